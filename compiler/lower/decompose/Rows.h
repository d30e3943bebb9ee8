// SPDX-License-Identifier: Apache-2.0
// Turns a function from an op to an equivalent of its results into the op's
// DecomposableInterface.
#pragma once

#include "compiler/dialect/Expr.h"

namespace dlc::ir {

/// The argument of a decomposition: the op, and its operands as f32 or wider.
template <class OpTy> struct Decomposition {
  OpTy op;
  mlir::OpBuilder &builder;

  Expr expr(mlir::Value v) const { return Expr(builder, op->getLoc(), v); }
  Expr operator()(mlir::Value v) const { return wide(expr(v)); }
  /// Converts the values to the results' shapes and element types.
  llvm::SmallVector<mlir::Value>
  results(std::initializer_list<Expr> values) const {
    llvm::SmallVector<mlir::Value> out;
    for (auto [e, r] : llvm::zip_equal(values, op->getResults()))
      out.push_back(
          Expr(e).cast(elementType(r)).reshape(tensorType(r).getShape()));
    return out;
  }
};

template <class OpTy, class Rule>
struct DecompositionModel
    : DecomposableInterface::ExternalModel<DecompositionModel<OpTy, Rule>,
                                           OpTy> {
  llvm::SmallVector<mlir::Value> decompose(mlir::Operation *op,
                                           mlir::OpBuilder &builder) const {
    Decomposition<OpTy> d{llvm::cast<OpTy>(op), builder};
    return Rule{}(d);
  }
};

/// Attaches `rule`, a stateless lambda that takes Decomposition<OpTy> & and
/// returns one value per result.
template <class OpTy, class Rule>
void decomposition(mlir::MLIRContext &context, Rule) {
  OpTy::template attachInterface<DecompositionModel<OpTy, Rule>>(context);
}

} // namespace dlc::ir
