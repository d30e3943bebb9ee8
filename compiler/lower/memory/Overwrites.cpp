// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/memory/Overwrites.h"
#include "compiler/kernel/KernelSchedule.h"
#include "compiler/lower/Marks.h"

using namespace mlir;
using dlc::ir::tensorType;

namespace dlc {

bool mayOverwrite(ir::FusedOp fused, OpResult r, OpOperand &operand) {
  const bool isElementwise =
      llvm::all_of(fused.getBody().front(), [](Operation &op) {
        return isa<ir::ElementwiseInterface, ir::ConstantOp, ir::YieldOp>(op);
      });
  if (isElementwise)
    return true;
  Value input = fused.getBody().getArgument(operand.getOperandNumber());
  std::string why;
  auto graph = KernelGraph::build(fused.getBody(), why);
  if (!graph || !sumsColumns(*graph))
    return false;
  const IndexForm &place = graph->outputs[r.getResultNumber()].offset;
  return llvm::all_of(graph->nodes, [&](auto &node) {
    return node->kind != KernelNode::Load || node->value != input ||
           node->index == place;
  });
}

std::pair<Value, Value> overwritten(ir::FusedOp fused) {
  auto numbers = fused->getAttrOfType<DenseI64ArrayAttr>(kOverwrites);
  if (!numbers)
    return {};
  OpResult result = fused->getResult(unsigned(numbers[0]));
  OpOperand &input = fused->getOpOperand(unsigned(numbers[1]));
  Value operand = input.get();
  Operation *made = operand.getDefiningOp();
  if (!isa_and_nonnull<ir::FusedOp, ir::LibraryInterface>(made) ||
      !operand.hasOneUse() || operand.getType() != result.getType() ||
      !mayOverwrite(fused, result, input))
    return {};
  return {result, operand};
}

} // namespace dlc
