// SPDX-License-Identifier: Apache-2.0
// Recognition of a loss that the graph computes, as means over rows.
#pragma once

#include "compiler/dialect/Expr.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <optional>

namespace dlc {

/// The divisor of a mean: a sum (or mean) of weights after some scalings,
/// additions and lower bounds that keep it from 0.
struct Divisor {
  mlir::Value whole{}; // the sum or mean, one element
  bool isMean = false;
  enum class Kind { Scale, Add, AtLeast };
  struct Step {
    Kind kind;
    double by;
  };
  llvm::SmallVector<Step, 0> steps{}; // applied to `whole` in order

  /// Applies the same steps to another sum or mean.
  ir::Expr of(ir::Expr other) const;
};

/// factor * sum(rows) / sum(weights), both sums over a batch; without weights
/// factor * mean(rows). A single row that does not depend on an input does not
/// belong to a sample.
struct LossMean {
  mlir::Value rows, weights{};
  double factor = 1;
  /// The op that divides by the weights, whose result is the mean; null without
  /// weights.
  ir::DivOp division{};
  Divisor divisor{}; // the divisor of `division`
};
using LossMeans = llvm::SmallVector<LossMean, 1>;

/// Decomposes the scalar `loss` of a batch of `samples` into a sum of means;
/// nullopt if that fails, as for the root or the maximum of means. A division
/// is recognised if its divisor is a sum that does not depend on a trained
/// state, with or without a small constant that keeps it from 0.
std::optional<LossMeans> meansOf(mlir::Value loss, int64_t samples);

/// The result of @predict that is its loss, if `kind` (--loss) asks for a loss
/// in the graph. OUTPUT:graph: that output; auto and cross_entropy: the result
/// of a loss operator; auto: also a scalar that depends on inputs and trained
/// states, if it is named "loss", or if it is the only one and is the first
/// result or has "loss" in its name.
std::optional<unsigned> findGraphLoss(mlir::func::FuncOp predict,
                                      llvm::StringRef kind);

/// Emits a remark on the scalar that --loss=auto took, or did not.
void remarkNumbers(mlir::func::FuncOp predict, std::optional<unsigned> taken);

} // namespace dlc
