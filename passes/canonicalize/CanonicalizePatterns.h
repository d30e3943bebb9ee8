// SPDX-License-Identifier: Apache-2.0
// Patterns of dlc-canonicalize that have files of their own.
#pragma once

#include "compiler/dialect/Expr.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"

namespace dlc {

/// The value of a float constant whose elements are all equal; nullopt for any
/// other value.
std::optional<double> splatOf(mlir::Value v);

/// Writes `v` as constant * x by looking through products with constants.
std::pair<double, mlir::Value> takeOffScale(mlir::Value v);

/// x * (noise < p) / p, the form in which exporters write stochastic depth,
/// becomes dlc.dropout, which is the identity outside of training.
void addDropoutPatterns(mlir::RewritePatternSet &set);

/// Ops that read or produce tensors without elements are replaced by the values
/// of their results.
void addEmptyPatterns(mlir::RewritePatternSet &set);
/// An error at an op that still reads a tensor without elements.
mlir::LogicalResult refuseEmpty(mlir::func::FuncOp function);

/// The tanh and erf formulas of GELU become dlc.gelu.
void addGeluPatterns(mlir::RewritePatternSet &set);

} // namespace dlc
