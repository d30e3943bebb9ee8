// SPDX-License-Identifier: Apache-2.0
// Attaches the rows of a gradient table as interfaces of their ops.
//   grad<TransposeOp>(context, [](auto &g) { return g.single(inverse(g)); });
#pragma once

#include "compiler/dialect/Expr.h"

namespace dlc::ir {

using Values = llvm::SmallVector<mlir::Value>;

/// The argument of a rule: the op, the gradients of its results and the
/// insertion point.
template <class OpTy> struct Gradient {
  OpTy op;
  mlir::OpBuilder &builder;
  llvm::ArrayRef<mlir::Value> dys;
  /// Gradient and value of the first result.
  Expr dy, y;

  Gradient(mlir::Operation *o, mlir::OpBuilder &b,
           llvm::ArrayRef<mlir::Value> dys)
      : op(llvm::cast<OpTy>(o)), builder(b), dys(dys), dy(expr(dys[0])),
        y(expr(o->getResult(0))) {}
  Expr expr(mlir::Value v) const { return Expr(builder, op->getLoc(), v); }
  Expr operand(unsigned i) const { return expr(op->getOperand(i)); }
  /// One null per operand.
  Values none() const { return Values(op->getNumOperands()); }
  /// The gradient of the first operand; the others have none.
  Values first(mlir::Value dx) const {
    Values values = none();
    values[0] = dx;
    return values;
  }
};

template <class OpTy, class Rule>
struct GradientModel
    : DifferentiableInterface::ExternalModel<GradientModel<OpTy, Rule>, OpTy> {
  llvm::LogicalResult
  buildGradient(mlir::Operation *op, mlir::OpBuilder &builder,
                llvm::ArrayRef<mlir::Value> dy,
                llvm::SmallVectorImpl<mlir::Value> &dx) const {
    Gradient<OpTy> g(op, builder, dy);
    llvm::FailureOr<Values> values = Rule{}(g);
    if (failed(values))
      return llvm::failure();
    dx.append(values->begin(), values->end());
    return llvm::success();
  }
};

/// Attaches `rule`, a stateless lambda that takes Gradient<OpTy> & and returns
/// one value per operand.
template <class OpTy, class Rule> void grad(mlir::MLIRContext &context, Rule) {
  OpTy::template attachInterface<GradientModel<OpTy, Rule>>(context);
}

/// Ops whose results are constant or piecewise constant in their operands.
template <class... OpTys> void noGradient(mlir::MLIRContext &context) {
  (grad<OpTys>(context, [](auto &g) { return g.none(); }), ...);
}

} // namespace dlc::ir
