// SPDX-License-Identifier: Apache-2.0
// Results of @eval_step for a loss: numerators and denominators, which are
// summed over all samples and divided once at the end.
#pragma once

#include "passes/Step.h"
#include "passes/loss/GraphLoss.h"

namespace dlc {

/// Adds for each mean a result row_loss, its rows times `factor` and the mean's
/// own factor, and, if it has weights, a result row_weight: both f32, with the
/// same number of elements for each of `samples`. ".NAME" is appended to both
/// if there is a name, and ".1", ".2" ... from the second mean on. Rows that
/// belong to no sample are added up to one number.
void addMeans(mlir::func::FuncOp f, llvm::ArrayRef<LossMean> means,
              double factor, llvm::StringRef name, int64_t samples);

/// Adds the hits [R] of rows as row_correct. With weights [R], rows of weight 0
/// have no hits, and row_counted is 1 for all other rows.
void addHits(mlir::func::FuncOp f, mlir::Value correct, mlir::Value weights);

/// The samples of a batch: the first dimension of the first input that has one.
int64_t samplesOf(mlir::func::FuncOp f);

/// The means of a loss that the graph computes; if it has none, the loss as one
/// mean without samples, with a warning.
LossMeans graphMeans(mlir::Value loss, int64_t samples);

/// Adds the means and hits of a loss that the graph computes; hits come from
/// its cross entropy `op`, if it has one.
void addGraphRows(mlir::func::FuncOp f, ir::Expr loss,
                  ir::SoftmaxCrossEntropyOp op);

} // namespace dlc
