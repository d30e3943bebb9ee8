// SPDX-License-Identifier: Apache-2.0
// The gradient of a user-defined operator is a call of its library, too.
#include "compiler/dialect/ops/Custom.h"
#include "passes/Gradients.h"
#include "passes/gradients/Rows.h"

using namespace mlir;

namespace dlc::ir {
namespace {

FailureOr<Values> custom(Gradient<CustomOp> &g) {
  CustomOp op = g.op;
  if (!op.getDifferentiable())
    return op.emitError() << "operator '" << op.getDomain() << "." << op.getOp()
                          << "' of '" << op.getLibrary()
                          << "' has no gradient: give its library a "
                             "`backward` for this device, or freeze the "
                             "parameters before it (--freeze)";
  SmallVector<Value> operands(op.getInputs());
  llvm::append_range(operands, op.getOutputs());
  for (auto [y, dy] : llvm::zip(op.getOutputs(), g.dys))
    if (isa<FloatType>(elementType(y)))
      operands.push_back(
          dy ? dy : Value(g.expr(y).scalar(0).broadcast(g.expr(y).shape())));
  SmallVector<Type> types;
  for (Value x : op.getInputs())
    if (isa<FloatType>(elementType(x)))
      types.push_back(x.getType());
  auto backward = CustomOp::create(g.builder, op.getLoc(), types, operands,
                                   op.getLibrary(), op.getDomain(), op.getOp(),
                                   op.getArguments(), /*backward=*/true,
                                   /*differentiable=*/false);
  Values dxs = g.none();
  unsigned next = 0;
  for (auto [i, x] : llvm::enumerate(op.getInputs()))
    if (isa<FloatType>(elementType(x)))
      dxs[i] = backward.getResult(next++);
  return dxs;
}

} // namespace
} // namespace dlc::ir

void dlc::attachCustomGradients(MLIRContext &c) {
  ir::grad<ir::CustomOp>(c, [](auto &g) { return ir::custom(g); });
}
