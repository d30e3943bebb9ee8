// SPDX-License-Identifier: Apache-2.0
// What @eval_step returns of a loss, so that numerators and denominators are
// added up over all samples and divided once.
#pragma once

#include "passes/Step.h"
#include "passes/loss/GraphLoss.h"

namespace dlc {

/// For each mean its rows, times `factor` and the mean's own, as a result
/// row_loss and their weights, if they have some, as row_weight: f32, a number
/// of them for each of `samples`. Behind both stands ".NAME" with a name, and
/// ".1", ".2" ... from the second mean on. Rows of no sample are one number.
void addMeans(mlir::func::FuncOp f, llvm::ArrayRef<LossMean> means,
              double factor, llvm::StringRef name, int64_t samples);

/// A row's hits [R] as row_correct. With weights [R] those of 0 are no hits,
/// and row_counted says of each row whether it counts.
void addHits(mlir::func::FuncOp f, mlir::Value correct, mlir::Value weights);

/// Rows of the first input of any, which are a batch's samples.
int64_t samplesOf(mlir::func::FuncOp f);

/// The means of a loss that the graph computes; itself, of no rows, with a
/// warning, if there are none.
LossMeans graphMeans(mlir::Value loss, int64_t samples);

/// Both of a loss that the graph computes; hits are those of its cross entropy,
/// if it has one.
void addGraphRows(mlir::func::FuncOp f, ir::Expr loss,
                  ir::SoftmaxCrossEntropyOp op);

} // namespace dlc
