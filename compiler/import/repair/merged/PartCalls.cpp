// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/Conventions.h"
#include "compiler/import/repair/torch/Restoring.h"
#include "onnx-ml.pb.h"
#include <fmt/format.h>

namespace dlc::import {
namespace {

/// Calls of norms that had equal parameters and one operand: the exporter kept
/// one. Who reads it notes the value of the other, which no node gives.
class CallParter {
public:
  explicit CallParter(Restoring &work) : work(work), edit(work.edit) {}

  void run() {
    if (work.unnamed.empty())
      return;
    for (const auto &node : edit.graph.node())
      made.insert(node.output().begin(), node.output().end());
    for (int i = 0, count = edit.graph.node_size(); i < count; ++i) {
      const auto &node = edit.graph.node(i);
      if (node.op_type() == "LayerNormalization" ||
          node.op_type() == "RMSNormalization")
        part(node);
    }
  }

private:
  /// By the module's name of each; empty if an input is no parameter.
  std::map<int, std::string> parametersOf(const onnx::NodeProto &norm) const {
    std::map<int, std::string> targets;
    for (int slot = 1; slot < norm.input_size(); ++slot) {
      auto value = work.notes.source(norm, slot, norm.input(slot));
      auto target = value ? work.notes.parameter(*value) : std::nullopt;
      if (!target || !edit.weight(norm.input(slot)))
        return {};
      targets[slot] = *target;
    }
    return targets;
  }

  /// The value of the source that a node reads, which a layer has as its first
  /// argument.
  std::optional<std::string> readBy(const Use &use,
                                    const std::string &own) const {
    const TorchCall &call = work.notes.call(*use.node);
    const bool isFirst = call.target == "linear" && use.slot == 0 &&
                         !call.args.empty() && !call.tensors.empty() &&
                         call.args[0] == "%" + call.tensors[0];
    return isFirst ? std::optional(call.tensors[0])
                   : work.notes.source(*use.node, use.slot, own);
  }

  /// The only module beside `own` whose parameters of these names are lost.
  std::optional<std::string>
  lostBeside(const std::string &own,
             const std::map<int, std::string> &targets) const {
    std::set<std::string> found;
    for (const std::string &parameter : work.unnamed) {
      const std::string module = parentOf(parameter);
      if (module == own || parentOf(module) != parentOf(own))
        continue;
      const bool all =
          std::all_of(targets.begin(), targets.end(), [&](const auto &entry) {
            return work.unnamed.count(module + entry.second.substr(own.size()));
          });
      if (all)
        found.insert(module);
    }
    return found.size() == 1 ? std::optional(*found.begin()) : std::nullopt;
  }

  void part(const onnx::NodeProto &norm) {
    const std::string &own = norm.output(0);
    std::map<std::string, std::vector<Use>> others;
    for (const Use &use : edit.uses(own))
      if (auto value = readBy(use, own);
          value && *value != own && !made.count(*value) &&
          withoutCount(*value) == withoutCount(own))
        others[*value].push_back(use);
    const auto targets = parametersOf(norm);
    if (others.size() != 1 || targets.empty() || edit.isFixed(own) ||
        !work.spend(work.unnamed.size()))
      return;
    const std::string module = parentOf(targets.begin()->second);
    const bool isOne =
        std::all_of(targets.begin(), targets.end(), [&](const auto &entry) {
          return parentOf(entry.second) == module;
        });
    auto lost = isOne ? lostBeside(module, targets) : std::nullopt;
    if (!lost ||
        edit.unusedName(others.begin()->first) != others.begin()->first)
      return;
    const auto &[value, uses] = *others.begin();
    std::vector<std::string> inputs{norm.input(0)};
    for (const auto &[slot, target] : targets)
      inputs.push_back(
          copy(norm.input(slot), target, *lost + target.substr(module.size())));
    auto &node = edit.addNode(norm.op_type(), inputs, value);
    *node.mutable_attribute() = norm.attribute();
    node.set_name("node_" + value);
    for (const Use &use : uses)
      edit.redirect(use, value);
  }

  std::string copy(const std::string &name, const std::string &from,
                   const std::string &to) {
    edit.addInitializer(to, *edit.weight(name));
    work.origins[to].target = to;
    work.unnamed.erase(to);
    work.decide(to, "parted",
                fmt::format("from {}: the exporter merged the nodes of two "
                            "norms with equal parameters",
                            from));
    return to;
  }

  Restoring &work;
  GraphEdit &edit;
  std::set<std::string> made;
};

} // namespace

void partCalls(Restoring &work) { CallParter(work).run(); }

} // namespace dlc::import
