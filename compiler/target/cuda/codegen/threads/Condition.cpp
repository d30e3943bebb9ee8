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
    return nullptr; // no condition
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

/// The constant c of a node that is loop v + c.
static std::optional<int64_t> offsetOf(const KernelNode *node, unsigned v) {
  if (node->kind == KernelNode::Index)
    return node->index ==
                   IndexForm::variable(v) + IndexForm(node->index.constant())
               ? std::optional(node->index.constant())
               : std::nullopt;
  const bool adds =
      node->kind == KernelNode::Apply && isa<ir::AddOp>(node->op());
  APInt by;
  if (!(adds ||
        (node->kind == KernelNode::Apply && isa<ir::SubOp>(node->op()))) ||
      node->children[1]->kind != KernelNode::Splat ||
      !matchPattern(node->children[1]->value, m_ConstantInt(&by)))
    return std::nullopt;
  const auto of = offsetOf(node->children[0], v);
  const int64_t c = by.getSExtValue();
  return of ? std::optional(adds ? *of + c : *of - c) : std::nullopt;
}

SmallVector<Meeting, 2> meetingsOf(const KernelGraph &graph,
                                   const KernelNode *condition, unsigned v) {
  if (condition->kind != KernelNode::Apply)
    return {};
  if (isa<ir::OrOp>(condition->op())) {
    auto all = meetingsOf(graph, condition->children[0], v),
         others = meetingsOf(graph, condition->children[1], v);
    if (all.empty() || others.empty())
      return {};
    all.append(others);
    return all;
  }
  auto compare = dyn_cast<ir::CompareOp>(condition->op());
  if (!compare || compare.getPredicate() != ir::Predicate::eq)
    return {};
  const LoopGroup loop{{v}, graph.variables[v].size};
  for (unsigned side : {0, 1}) {
    const KernelNode *number = condition->children[side];
    auto type = dyn_cast<IntegerType>(ir::elementType(number->value));
    const auto offset = offsetOf(condition->children[1 - side], v);
    if (type && type.getWidth() > 1 && offset && !varies(graph, number, loop))
      return {{number, *offset}};
  }
  return {};
}

} // namespace dlc::cuda
