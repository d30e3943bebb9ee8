// SPDX-License-Identifier: Apache-2.0
// The rows of a loss that the graph computes.
#pragma once

#include "compiler/dialect/Expr.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <optional>

namespace dlc {

/// What a mean is divided by: a sum of weights, or their mean, times numbers,
/// and kept from 0.
struct Divisor {
  mlir::Value whole{}; // the sum or mean, of one element
  bool isMean = false;
  enum class Kind { Scale, Add, AtLeast };
  struct Step {
    Kind kind;
    double by;
  };
  llvm::SmallVector<Step, 0> steps{}; // from `whole` on

  /// The same of another sum or mean.
  ir::Expr of(ir::Expr other) const;
};

/// factor * sum(rows) / sum(weights), each over a batch; without weights
/// factor * mean(rows). Rows of one element that no input changes are of no
/// sample.
struct LossMean {
  mlir::Value rows, weights{};
  double factor = 1;
  /// In the program: the division by the weights, which gives the mean; null if
  /// there is none.
  ir::DivOp division{};
  Divisor divisor{}; // what `division` divides by
};
using LossMeans = llvm::SmallVector<LossMean, 1>;

/// The means whose sum the scalar `loss` is, of a batch of `samples`; nothing
/// if it is no such sum, as a root or a maximum of means. A division counts if
/// what it divides by is a sum that no trained state changes, also where a
/// small constant keeps that from 0.
std::optional<LossMeans> meansOf(mlir::Value loss, int64_t samples);

/// The result of @predict that the graph computes as its loss, if that is what
/// `kind` (--loss) asks for: OUTPUT:graph; of auto and cross_entropy what an
/// operator for losses gives; of auto the only number that inputs and trained
/// states give, if it is the first result or is called a loss.
std::optional<unsigned> findGraphLoss(mlir::func::FuncOp predict,
                                      llvm::StringRef kind);

/// Says of --loss=auto which number it took for the loss, or which it left.
void remarkNumbers(mlir::func::FuncOp predict, std::optional<unsigned> taken);

} // namespace dlc
