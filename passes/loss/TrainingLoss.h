// SPDX-License-Identifier: Apache-2.0
// The mean of the rows of a training step. If rows have weights, it is the
// weighted mean over all ranks and micro-batches together:
//   sum(weight * loss) over all / sum(weight) over all
// Since gradients and losses are averaged over ranks and micro-batches, each of
// them divides its own sum by the mean D = sum(weight) over all / their number.
// A rank or micro-batch whose weights are all 0 contributes 0, and the loss of
// a step without any weight is 0.
//   Weights need only labels, so their all-reduce runs at the start of a step,
// in parallel with the forward pass. A micro-batch does not know the weights of
// later ones. It divides by its own sum of weights; dlc-accumulate-gradients
// multiplies by that sum when it accumulates, and the window by 1 / D.
#pragma once

#include "passes/Options.h"
#include "passes/Step.h"
#include "passes/loss/GraphLoss.h"

namespace dlc {

/// Scalar results of @train_step that dlc-accumulate-gradients consumes: the
/// divisor of a micro-batch, and D, which depends on a dlc.all_reduce.
constexpr llvm::StringLiteral kOwnDivisor = "divisor.own",
                              kWholeDivisor = "divisor.whole";

/// A scalar loss, and the means that it is the sum of.
struct TrainedLoss {
  ir::Expr loss;
  LossMeans means;
  std::string name{}; // for a loss of a list
};

/// The mean of rows [..], or sum(rows) / sum(weight), where `weight` [R] is
/// already a factor of rows [R]. With `present`, a number per sample
/// (runtime/data/Loader.h), rows without weights are multiplied by their
/// sample's number; rows with weights are included where it is above 0.
TrainedLoss trainedOfRows(ir::Expr rows, mlir::Value weight,
                          mlir::Value present);
/// A loss that the graph computes; its own mean if it is no sum of means.
TrainedLoss trainedOfGraph(ir::Expr loss, int64_t samples);

/// Replaces divisions by weights by divisions by the weights of all ranks and
/// micro-batches. Fails, with an error at `f`, if micro-batches have more than
/// one divisor.
llvm::LogicalResult divideByAll(mlir::func::FuncOp f,
                                llvm::ArrayRef<TrainedLoss> losses,
                                const StepOptions &options);

} // namespace dlc
