// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/repair/torch/Restoring.h"
#include "onnx-ml.pb.h"
#include "runtime/base/options/Pattern.h"
#include <algorithm>
#include <fmt/ranges.h>

namespace dlc::import {
namespace {

constexpr int kLongestWay = 4; // nodes from a tensor to its reader

class Separator : GraphRepair {
public:
  using GraphRepair::GraphRepair;

  Status run(const std::vector<std::string> &names) {
    for (const std::string &name : names)
      DLC_TRY(separate(name));
    return {};
  }

private:
  /// A module that reads the tensor.
  struct Reader {
    std::string module; // or the operator, if the module is unknown
    bool isModule;
    std::vector<Use> uses;
  };

  Status separate(const std::string &name) {
    auto alias = work.file.aliases.find(name);
    const bool isSecond = alias != work.file.aliases.end();
    const std::string tensor = isSecond ? alias->second : name;
    const Weight *weight = edit.weight(tensor);
    if (!weight || !isFloat(weight->dtype))
      return usageError("--untie={}: no weight has that name{}", name,
                        nearbyNames(name, edit.initializers()));
    if (edit.isFixed(tensor))
      return usageError("--untie={}: the weight is also a graph input or "
                        "output, or is read by a subgraph",
                        name);
    std::vector<Reader> readers = readersOf(tensor);
    if (readers.size() < 2)
      return usageError("--untie={}: only '{}' reads the weight", name,
                        readers.empty() ? "nothing" : readers[0].module);
    const size_t keeps = keeperOf(tensor, readers);
    int parted = 0;
    for (size_t i = 0; i < readers.size(); ++i)
      if (i != keeps && (!isSecond || nameFor(tensor, readers[i]) == name)) {
        DLC_TRY(part(tensor, readers[i]));
        ++parted;
      }
    return parted
               ? Status()
               : usageError(
                     "--untie={}: second name of '{}', which no module reads "
                     "under that name; --untie={} unties all its readers",
                     name, tensor, tensor);
  }

  std::vector<Reader> readersOf(const std::string &tensor) const {
    std::vector<Reader> readers;
    for (const Use &use : edit.uses(tensor)) {
      const onnx::NodeProto &node = behind(*use.node);
      auto module = moduleOf(work.notes, node);
      const bool isModule = module && !module->empty();
      const std::string label =
          isModule ? withoutCount(*module) : node.op_type();
      auto known = std::ranges::find_if(readers, [&](const Reader &reader) {
        return reader.isModule == isModule && reader.module == label;
      });
      if (known == readers.end())
        known = readers.insert(known, {label, isModule, {}});
      known->uses.push_back(use);
    }
    return readers;
  }

  /// The reader behind nodes that only rearrange a weight.
  const onnx::NodeProto &behind(const onnx::NodeProto &node) const {
    const onnx::NodeProto *last = &node;
    for (int i = 0; i < kLongestWay && arranges(*last); ++i) {
      const auto uses = edit.uses(last->output(0));
      if (uses.empty())
        break;
      last = uses[0].node;
    }
    return *last;
  }
  static bool arranges(const onnx::NodeProto &node) {
    static const std::set<std::string> ops = {
        "Transpose", "Reshape", "Identity", "Cast", "Squeeze", "Unsqueeze"};
    return ops.count(node.op_type()) && node.domain().empty() &&
           node.output_size() == 1;
  }

  /// Index of the module that the tensor is named after, or 0.
  static size_t keeperOf(const std::string &tensor,
                         const std::vector<Reader> &readers) {
    const std::string path = tensor.substr(0, tensor.rfind('.'));
    const auto at = std::ranges::find(readers, path, &Reader::module);
    return at == readers.end() ? 0 : size_t(at - readers.begin());
  }

  static std::string nameFor(const std::string &tensor, const Reader &reader) {
    return reader.isModule
               ? reader.module + "." + tensor.substr(tensor.rfind('.') + 1)
               : tensor + "/" + reader.module;
  }

  Status part(const std::string &tensor, const Reader &reader) {
    const Weight weight = *edit.weight(tensor);
    const std::string wanted = nameFor(tensor, reader),
                      own = edit.unusedName(wanted);
    DLC_TRY(work.file.budget.keep(weight.bytes, "--untie=" + tensor));
    edit.addInitializer(own, weight);
    std::set<std::pair<std::string, int>> moved;
    for (const Use &use : reader.uses) {
      edit.redirect(use, own);
      if (use.node->output_size())
        moved.insert({use.node->output(0), use.slot});
    }
    work.origins[own].target = own;
    if (auto role = work.file.roles.find(tensor); role != work.file.roles.end())
      work.file.roles[own] = role->second;
    moveRecords(tensor, own, moved);
    work.file.aliases.erase(own);
    work.file.aliases[tensor] = own; // another file may tie them
    std::erase_if(work.file.decisions, [&](const Decision &decision) {
      return decision.kind == "tied" && gone.count(decision.tensor);
    });
    work.decide(own, "untied",
                fmt::format("from {} by --untie; '{}' reads it", tensor,
                            reader.module));
    return {};
  }

  /// Assigns records of the file's form to the new tensor if all their readers
  /// moved to it.
  void moveRecords(const std::string &tensor, const std::string &own,
                   const std::set<std::pair<std::string, int>> &moved) {
    auto isMoved = [&](const Replaced::Use &use) {
      return moved.count({use.output, use.slot}) ||
             std::ranges::count(moved, use.now,
                                [](auto &m) { return m.first; });
    };
    for (Replaced &record : work.file.replaced) {
      if (record.pieces.empty() || record.pieces[0].tensor != tensor ||
          !std::ranges::all_of(record.uses, isMoved))
        continue;
      for (Replaced::Piece &piece : record.pieces)
        piece.tensor = own;
      for (Replaced::Use &use : record.uses)
        if (use.now == tensor)
          use.now = own;
      gone.insert(record.name);
    }
  }

  std::set<std::string> gone; // copies that are no longer tied
};

} // namespace

Status separateTies(Restoring &work, const std::vector<std::string> &names) {
  return Separator(work).run(names);
}

} // namespace dlc::import
