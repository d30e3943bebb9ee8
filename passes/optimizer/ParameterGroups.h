// SPDX-License-Identifier: Apache-2.0
// Groups of parameters with the same update rule, rate and weight decay.
#pragma once

#include "passes/optimizer/OptimizerRules.h"

namespace dlc {

struct ParameterGroup {
  int64_t optimizer; // row of --optimizer-group, or -1
  const Rule *rule;
  double lrScale;           // factor of the schedule's rate
  OptimizerOptions options; // resolved, with the group's weight decay
  llvm::SmallVector<ir::GradientOp> gradients;
};

/// The groups of the step's gradients in the order of their first gradients;
/// within a group the order is that of the step. Fails, with an error, on a
/// pattern that is malformed or matches no parameter, and on an invalid factor.
llvm::FailureOr<std::vector<ParameterGroup>>
groupParameters(Step &step, const OptimizerOptions &options);

/// The optimizer of --outer-optimizer, sgd(KEY=VALUE,...), resolved.
Result<OptimizerOptions> readOuterOptimizer(const std::string &text);

/// Whether an optimizer's options are consistent; else an error at `where`.
llvm::LogicalResult checkOptimizer(mlir::Operation *where,
                                   const OptimizerOptions &options);

/// Whether the patterns of --lr-scale, --weight-decay-scale and
/// --optimizer-group are well formed and match trainable states; else an error
/// at the module.
llvm::LogicalResult checkPatterns(mlir::ModuleOp module,
                                  const OptimizerOptions &options);

} // namespace dlc
