// SPDX-License-Identifier: Apache-2.0
// Which parameters are updated alike: the same rule, rate and weight decay.
#pragma once

#include "passes/optimizer/OptimizerRules.h"

namespace dlc {

struct ParameterGroup {
  int64_t optimizer; // row of --optimizer-group, or -1
  const Rule *rule;
  double lrScale;           // factor of the schedule's rate
  OptimizerOptions options; // resolved; the weight decay is the group's
  llvm::SmallVector<ir::GradientOp> gradients;
};

/// The groups of the step's gradients in the order of their first ones; each
/// keeps the order of its gradients. Fails, with an error, on a pattern that is
/// no regular expression or matches no parameter, and on a bad factor.
llvm::FailureOr<std::vector<ParameterGroup>>
groupParameters(Step &step, const OptimizerOptions &options);

/// The optimizer that --outer-optimizer names, sgd(KEY=VALUE,...), resolved.
Result<OptimizerOptions> readOuterOptimizer(const std::string &text);

/// Whether the options of an optimizer go together; else an error there.
llvm::LogicalResult checkOptimizer(mlir::Operation *where,
                                   const OptimizerOptions &options);

/// Whether the patterns of --lr-scale, --weight-decay-scale and
/// --optimizer-group are well formed and match trainable states; else an error
/// at the module.
llvm::LogicalResult checkPatterns(mlir::ModuleOp module,
                                  const OptimizerOptions &options);

} // namespace dlc
