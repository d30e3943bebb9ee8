// SPDX-License-Identifier: Apache-2.0
// Losses that measure the distance to a teacher: another model, in inference
// mode, which is @teacher in the module.
#pragma once

#include "passes/loss/TrainingLoss.h"

namespace dlc {

/// A row of --distill.
struct DistillTerm {
  bool isKl = false; // mse
  double temperature = 1, weight = 1;
  std::string student, teacher; // outputs; empty: the first output
};

/// Parses rows KIND(KEY=VALUE,...), with kinds kl and mse. Code::Usage.
Result<std::vector<DistillTerm>> parseDistill(const Words &texts);

struct WeightedLoss {
  TrainedLoss loss;
  double weight;
};

/// Adds the result "loss", the sum of `total` and the terms of --distill, and a
/// result "loss.NAME" for each named part of `parts` and each term (distill,
/// distill2, ...). `f` is a copy of `predict` with results `outputs`, and calls
/// @teacher with the model's inputs. Fails, with an error at `predict`, if the
/// models do not match.
///   kl: temperature^2 times the sum over the classes of q (log q - log p), p
///       and q the softmax of student's and teacher's logits / temperature
///   mse: the mean of squared differences
/// Both are averaged over the remaining dimensions of the output.
llvm::LogicalResult addTotal(mlir::func::FuncOp predict, mlir::func::FuncOp f,
                             ir::Expr total,
                             llvm::SmallVector<WeightedLoss> parts,
                             llvm::ArrayRef<mlir::Value> outputs,
                             mlir::Value present, const StepOptions &options);

} // namespace dlc
