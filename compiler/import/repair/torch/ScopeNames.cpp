// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/Conventions.h"
#include "compiler/import/file/GraphCheck.h"
#include "compiler/import/repair/torch/Restoring.h"
#include "onnx-ml.pb.h"
#include "runtime/base/Text.h"
#include <algorithm>

namespace dlc::import {
namespace {

/// "fc.bias" -> "fc.weight", "attn.in_proj_bias" -> "attn.in_proj_weight".
std::optional<std::string> weightOfBias(const std::string &bias) {
  const size_t leaf = bias.rfind('.') + 1, word = bias.rfind("bias");
  if (word == std::string::npos || word < leaf)
    return std::nullopt;
  return std::string(bias).replace(word, 4, "weight");
}

bool isMatrixOf(const onnx::NodeProto &node, const Use &use,
                const Weight &weight) {
  const std::string &op = node.op_type();
  return (op == "MatMul" || op == "Gemm") && use.slot == 1 &&
         weight.shape.size() == 2;
}

} // namespace

std::string parentOf(const std::string &name) {
  size_t dot = name.rfind('.');
  return dot == std::string::npos ? "" : name.substr(0, dot);
}

ScopeNames::ScopeNames(const Restoring &work) : work(work) {
  static const std::set<std::string> silent = {"Constant", "Identity", "Pad",
                                               "Cast"};
  auto addParents = [&](std::string path) {
    while (!(path = parentOf(path)).empty() && parents.insert(path).second)
      ;
  };
  for (const std::string &name : work.edit.initializers())
    if (!isMadeUp(work.notes, name))
      addParents(name);
  for (const auto &node : work.edit.graph.node()) {
    auto module = moduleOf(work.notes, node);
    if (!module || silent.count(node.op_type()))
      continue;
    ++nodes[*module];
    ++ops[{*module, node.op_type()}];
    addParents(*module);
  }
}

/// If a module's bias belongs to this layer, or is added to the product, which
/// has no other reader, the weight or matrix is that module's.
std::optional<std::string>
ScopeNames::besideBias(const onnx::NodeProto &product, int64_t width) const {
  std::string bias = product.op_type() == "MatMul" ? "" : inputOf(product, 2);
  auto readers = work.edit.uses(product.output(0));
  if (bias.empty() && readers.size() == 1 &&
      readers[0].node->op_type() == "Add" && readers[0].node->input_size() == 2)
    bias = readers[0].node->input(1 - readers[0].slot);
  const Weight *held = work.edit.weight(bias);
  if (!held || held->shape != std::vector<int64_t>{width} ||
      isMadeUp(work.notes, bias))
    return std::nullopt;
  auto module = moduleOf(work.notes, product);
  const std::string owner = parentOf(bias);
  bool inside = !module || module->empty() || *module == owner ||
                withoutCount(*module) == owner ||
                owner.starts_with(*module + ".");
  return inside ? weightOfBias(bias) : std::nullopt;
}

std::optional<std::string> ScopeNames::ofOnlyNode(const onnx::NodeProto &node,
                                                  const char *leaf) const {
  auto module = moduleOf(work.notes, node);
  if (!module || module->empty() || parents.count(*module))
    return std::nullopt;
  auto count = nodes.find(*module);
  if (count == nodes.end() || count->second != 1)
    return std::nullopt;
  return (isSecondCall(node, *module) ? withoutCount(*module) : *module) + "." +
         leaf;
}

/// "conv_1" is a second call of "conv" if both read the same weight.
bool ScopeNames::isSecondCall(const onnx::NodeProto &node,
                              const std::string &module) const {
  const std::string first = withoutCount(module);
  if (first == module || node.input_size() < 2)
    return false;
  auto [it, isNew] = callers.try_emplace(node.input(1));
  if (isNew)
    for (const Use &use : work.edit.uses(node.input(1)))
      if (auto caller = moduleOf(work.notes, *use.node);
          caller && use.slot == 1)
        it->second.insert(*caller);
  return it->second.count(first) > 0;
}

/// Weights of convolutions keep their names unless a norm was folded in.
std::optional<ScopedName> ScopeNames::ofConv(const std::string &name,
                                             const Use &use,
                                             const Weight &weight) const {
  const onnx::NodeProto &node = *use.node;
  const bool noted = isRewritten(node, kFoldedNorm);
  const bool vector = use.slot == 2 && weight.shape.size() == 1;
  if (noted && vector && name == node.input(1) + "_bias" &&
      name.ends_with(".weight_bias"))
    return ScopedName{parentOf(name) + ".bias", false, {}, true};
  if (use.slot < 1 || !isMadeUp(work.notes, name))
    return std::nullopt;
  // Folding a norm gives the convolution a new bias. If the bias has a module's
  // name or is absent, the weight was folded for another reason, such as a
  // cast.
  const bool isAlone =
      noted || (node.input_size() > 2 && isMadeUp(work.notes, node.input(2)));
  auto target = ofOnlyNode(node, vector ? "bias" : "weight");
  if (!target && !vector && node.op_type() == "Conv" && !weight.shape.empty())
    target = besideBias(node, weight.shape[0]);
  if (!target)
    return std::nullopt;
  return ScopedName{*target, false, {}, isAlone};
}

/// A module's vector [n] that the exporter reshaped to [n, 1, 1]: slopes of
/// PRelu, scale and shift of group norm.
std::optional<ScopedName> ScopeNames::ofVector(const Use &use,
                                               const Weight &weight) const {
  const std::string &op = use.node->op_type();
  auto module = moduleOf(work.notes, *use.node);
  if (!module || module->empty() || weight.shape.size() < 2 ||
      weight.shape[0] != weight.elements())
    return std::nullopt;
  std::optional<std::string> target;
  auto only = [&](const char *name) {
    auto count = ops.find({*module, name});
    return count != ops.end() && count->second == 1;
  };
  if (op == "PRelu" && use.slot == 1)
    target = ofOnlyNode(*use.node, "weight");
  else if (only("InstanceNormalization") && op == "Mul" && only("Mul"))
    target = *module + ".weight";
  else if (only("InstanceNormalization") && op == "Add" && only("Add"))
    target = *module + ".bias";
  if (!target)
    return std::nullopt;
  return ScopedName{*target, false, {weight.shape[0]}, false};
}

std::optional<ScopedName> ScopeNames::find(const std::string &name,
                                           const Use &use,
                                           const Weight &weight) const {
  const onnx::NodeProto &node = *use.node;
  if (!isFloat(weight.dtype) || !node.domain().empty() || !node.output_size())
    return std::nullopt;
  std::optional<ScopedName> found;
  if (node.op_type() == "Conv" || node.op_type() == "ConvTranspose") {
    found = ofConv(name, use, weight);
  } else if (!isMadeUp(work.notes, name)) {
    return std::nullopt;
  } else if (isMatrixOf(node, use, weight)) {
    const bool transposed = !NodeView(node, 0).integer("transB", 0);
    auto target = besideBias(node, channelsOf(node, weight.shape));
    if (!target)
      target = ofOnlyNode(node, "weight");
    if (target)
      found = ScopedName{*target, transposed, {}, false};
  } else {
    found = ofVector(use, weight);
  }
  bool valid = found && found->target.size() <= kMaxName &&
               isUtf8(found->target) &&
               found->target.find('\0') == std::string::npos;
  return valid ? found : std::nullopt;
}

} // namespace dlc::import
