// SPDX-License-Identifier: Apache-2.0
// The mean of a training step's rows. Where rows have weights it is that of the
// rows of all ranks and micro-batches together, whoever has them:
//   sum(weight * loss) of all / sum(weight) of all
// Gradients and losses are averaged over ranks and micro-batches, so each
// divides its sum by the mean weight D = sum(weight) of all / how many they
// are. A rank or micro-batch without weights adds nothing, and a step without
// any has the loss 0.
//   Weights need labels alone: their sum travels at the begin of a step, beside
// the forward pass. A micro-batch does not know those that follow. It divides
// by its own weights, and dlc-accumulate-gradients multiplies by these what it
// adds up, and the window by 1 / D.
#pragma once

#include "passes/Options.h"
#include "passes/Step.h"
#include "passes/loss/GraphLoss.h"

namespace dlc {

/// Results of @train_step that dlc-accumulate-gradients consumes: scalars, what
/// a micro-batch has divided by; D, which a dlc.all_reduce is below.
constexpr llvm::StringLiteral kOwnDivisor = "divisor.own",
                              kWholeDivisor = "divisor.whole";

/// A scalar, and what it is the sum of.
struct TrainedLoss {
  ir::Expr loss;
  LossMeans means;
  std::string name{}; // of a list's
};

/// The mean of rows [..], or of rows [R] that `weight` [R] is a factor of by
/// their weights. With `present`, a number for each sample
/// (runtime/data/Loader.h), of rows times their samples', or of rows whose
/// samples' is above 0.
TrainedLoss trainedOfRows(ir::Expr rows, mlir::Value weight,
                          mlir::Value present);
/// One that the graph computes; its own mean if it is no sum of means.
TrainedLoss trainedOfGraph(ir::Expr loss, int64_t samples);

/// Makes divisions by weights those of all ranks and micro-batches. Fails, with
/// an error at `f`, if micro-batches have more than one divisor.
llvm::LogicalResult divideByAll(mlir::func::FuncOp f,
                                llvm::ArrayRef<TrainedLoss> losses,
                                const StepOptions &options);

} // namespace dlc
