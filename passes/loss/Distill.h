// SPDX-License-Identifier: Apache-2.0
// Losses of how far a model is from a teacher: another model, in inference
// mode, which stands in the module as @teacher.
#pragma once

#include "passes/loss/TrainingLoss.h"

namespace dlc {

/// A row of --distill.
struct DistillTerm {
  bool isKl = false; // mse
  double temperature = 1, weight = 1;
  std::string student, teacher; // outputs; empty: the first
};

/// KIND(KEY=VALUE,...), kinds kl and mse. Code::Usage.
Result<std::vector<DistillTerm>> parseDistill(const Words &texts);

struct WeightedLoss {
  TrainedLoss loss;
  double weight;
};

/// Adds the results "loss", `total` and the terms of --distill, and "loss.NAME"
/// of those of `parts` that have a name and of each term (distill, distill2,
/// ...). `f` is a copy of `predict` whose results are `outputs`, and calls
/// @teacher with the model's inputs. Fails, with an error at `predict`, where
/// the models do not fit.
///   kl: temperature^2 times the sum over the classes of q (log q - log p), p
///       and q the softmax of student's and teacher's logits / temperature
///   mse: the mean of squared differences
/// Both are means over what else the output has.
llvm::LogicalResult addTotal(mlir::func::FuncOp predict, mlir::func::FuncOp f,
                             ir::Expr total,
                             llvm::SmallVector<WeightedLoss> parts,
                             llvm::ArrayRef<mlir::Value> outputs,
                             mlir::Value present, const StepOptions &options);

} // namespace dlc
