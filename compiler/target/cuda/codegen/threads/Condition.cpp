// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/codegen/threads/Condition.h"
#include "compiler/dialect/Dlc.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace dlc::cuda {

static bool isZero(const KernelNode *node) {
  DenseFPElementsAttr value;
  return node->kind == KernelNode::Splat &&
         matchPattern(node->value, m_Constant(&value)) &&
         value.getSplatValue<APFloat>().isZero();
}

static bool varies(const KernelGraph &graph, const KernelNode *node,
                   const LoopGroup &group) {
  return llvm::any_of(group.loops,
                      [&](unsigned v) { return graph.readsLoop(*node, v); }) ||
         llvm::any_of(node->children, [&](const KernelNode *child) {
           return varies(graph, child, group);
         });
}

const KernelNode *conditionOfSums(const KernelGraph &graph,
                                  const LoopGroup &group) {
  if (llvm::any_of(graph.outputs, [](auto &o) { return o.full; }))
    return nullptr; // no element is passed over
  const KernelNode *found = nullptr;
  for (const auto &node : graph.nodes) {
    if (node->kind != KernelNode::Reduce)
      continue;
    const KernelNode *child = node->children.front();
    auto reduction = dyn_cast<ir::ReductionInterface>(node->op());
    if (!reduction || reduction.combine() != ir::Combine::sum ||
        child->kind != KernelNode::Apply || !isa<ir::SelectOp>(child->op()) ||
        !isZero(child->children[2]) || (found && found != child->children[0]))
      return nullptr;
    found = child->children[0];
  }
  return found && !varies(graph, found, group) ? found : nullptr;
}

} // namespace dlc::cuda
