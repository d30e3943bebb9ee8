// SPDX-License-Identifier: Apache-2.0
// Patterns of dlc-canonicalize that have files of their own.
#pragma once

#include "compiler/dialect/Expr.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"

namespace dlc {

/// The number that every element of the float constant `v` is; none for
/// anything else.
std::optional<double> splatOf(mlir::Value v);

/// `v` = constant * x, taking off products with constants only.
std::pair<double, mlir::Value> takeOffScale(mlir::Value v);

/// x * (noise < p) / p, stochastic depth as exporters write it out, becomes
/// dlc.dropout, which is the identity outside of training.
void addDropoutPatterns(mlir::RewritePatternSet &set);

/// What reads or makes a tensor without elements becomes what it gives.
void addEmptyPatterns(mlir::RewritePatternSet &set);
/// An error at an op that still reads one.
mlir::LogicalResult refuseEmpty(mlir::func::FuncOp function);

/// GELU written out, in its tanh and its erf form, becomes dlc.gelu.
void addGeluPatterns(mlir::RewritePatternSet &set);

} // namespace dlc
