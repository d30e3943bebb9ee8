// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/repair/torch/Restoring.h"
#include "onnx-ml.pb.h"
#include <algorithm>
#include <fmt/format.h>

namespace dlc::import {
namespace {

/// Splits calls of norms or linear layers with equal parameters and the same
/// operand, which the exporter merged. Readers note the value of the removed
/// call, which no node computes, or that is the sum of a product and its bias.
class CallParter : GraphRepair {
public:
  using GraphRepair::GraphRepair;

  void run() {
    for (int i = 0, count = edit.graph.node_size(); i < count; ++i) {
      auto &node = *edit.graph.mutable_node(i);
      if (node.op_type() == "LayerNormalization" ||
          node.op_type() == "RMSNormalization")
        part(node);
      else if (node.op_type() == "Add" && node.input_size() == 2)
        for (int slot = 0; slot < 2; ++slot)
          partProduct({&node, slot});
    }
  }

private:
  /// Parameter names by input; empty if an input is not a parameter.
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

  /// The value of the source that a node reads: a layer's first argument, and
  /// the only one of many other calls.
  std::optional<std::string> readBy(const Use &use,
                                    const std::string &own) const {
    const TorchCall &call = work.notes.call(*use.node);
    const bool isFirst =
        (call.target == "linear" || call.tensors.size() == 1) &&
        use.slot == 0 && !call.args.empty() && !call.tensors.empty() &&
        call.args[0] == "%" + call.tensors[0];
    return isFirst ? std::optional(call.tensors[0])
                   : work.notes.source(*use.node, use.slot, own);
  }

  /// The only other module whose parameters of these names are lost.
  std::optional<std::string>
  lostBeside(const std::string &own,
             const std::map<int, std::string> &targets) const {
    std::set<std::string> found;
    for (const std::string &parameter : work.unnamed) {
      const std::string module = parentOf(parameter);
      if (module == own || parentOf(module) != parentOf(own))
        continue;
      if (std::ranges::all_of(targets, [&](const auto &entry) {
            return work.unnamed.count(module + entry.second.substr(own.size()));
          }))
        found.insert(module);
    }
    return found.size() == 1 ? std::optional(*found.begin()) : std::nullopt;
  }

  /// By a node of the file.
  bool isComputed(const std::string &value) const {
    const auto *maker = edit.maker(value);
    return maker && !edit.isNew(*maker);
  }

  void part(const onnx::NodeProto &norm) {
    const std::string &own = norm.output(0);
    std::map<std::string, std::vector<Use>> others;
    for (const Use &use : edit.uses(own))
      if (auto value = readBy(use, own);
          value && *value != own && !isComputed(*value) &&
          withoutCount(*value) == withoutCount(own))
        others[*value].push_back(use);
    const auto targets = parametersOf(norm);
    if (others.empty() || targets.empty() || edit.isFixed(own))
      return;
    const std::string module = parentOf(targets.begin()->second);
    const bool isOne = std::ranges::all_of(targets, [&](const auto &entry) {
      return parentOf(entry.second) == module;
    });
    const auto &[value, uses] = *others.begin();
    const bool isClear =
        isOne && others.size() == 1 && work.spend(work.unnamed.size());
    const auto lost = isClear ? lostBeside(module, targets) : std::nullopt;
    if (!lost || edit.unusedName(value) != value)
      return warnOf(norm, module);
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

  void warnOf(const onnx::NodeProto &norm, const std::string &module) {
    work.decide(norm.output(0), "one node",
                "stands for several norms of the source, which had equal "
                "parameters or one module",
                true, {module});
    work.file.decisions.back().named = norm.name();
  }

  /// Splits the product of a sum that completes a linear call but reads another
  /// call's product: the sum's notes name the weight to multiply by.
  void partProduct(const Use &use) {
    onnx::NodeProto *product = edit.maker(use.node->input(use.slot));
    const TorchCall &call = work.notes.call(*use.node);
    if (!product || product->op_type() != "MatMul" || call.target != "linear" ||
        call.args.size() < 3 || !call.args[1].starts_with('%'))
      return;
    const TorchCall &other = work.notes.call(*product);
    const Weight *weight = edit.weight(product->input(1));
    if (other.target != "linear" || other.value == call.value || !weight ||
        other.args.empty() || other.args[0] != call.args[0] ||
        !isStoredTransposed(work.notes, {product, 1}, *weight))
      return;
    const auto target = work.notes.parameter(call.args[1].substr(1));
    if (!target || edit.unusedName(*target) != *target)
      return;
    const Weight held = *weight;
    edit.ownInitializer(*target, held.dtype, {held.shape[1], held.shape[0]},
                        transposedBytes(held, {1, 0}));
    note(*target, product->input(1), "two linear layers with equal weights");
    const std::string turned =
        edit.add("Transpose", {*target}, *target + "/transposed");
    edit.redirect(use, edit.add("MatMul", {product->input(0), turned},
                                *target + "/product"));
  }

  std::string copy(const std::string &name, const std::string &from,
                   const std::string &to) {
    edit.addInitializer(to, *edit.weight(name));
    note(to, from, "two norms with equal parameters");
    return to;
  }

  void note(const std::string &to, const std::string &from, const char *what) {
    work.settle(to);
    work.decide(to, "parted",
                fmt::format("from {}: the exporter merged the nodes of {}",
                            from, what));
  }
};

} // namespace

void partCalls(Restoring &work) { CallParter(work).run(); }

} // namespace dlc::import
