// SPDX-License-Identifier: Apache-2.0
// Statistics of tensors as numbers that a step reports.
#pragma once

#include "passes/Step.h"

namespace dlc {

/// The trainable states in the order of the module, which is also the order of
/// rows of statistics.
inline llvm::SmallVector<ir::StateOp> measuredStates(mlir::ModuleOp module) {
  llvm::SmallVector<ir::StateOp> states;
  for (auto state : module.getOps<ir::StateOp>())
    if (state.getTrainable())
      states.push_back(state);
  return states;
}

/// Appends norm, mean, standard deviation and largest absolute value of the
/// elements, in f32; the deviation is computed from differences to the mean, to
/// avoid cancellation.
inline void measure(ir::Expr x, llvm::SmallVectorImpl<mlir::Value> &numbers) {
  x = wide(x);
  const auto axes = ir::axesBetween(0, x.rank());
  ir::Expr mean = x.mean(axes), off = x - mean;
  numbers.push_back(sqrt((x * x).sum(axes)));
  numbers.push_back(mean);
  numbers.push_back(sqrt((off * off).mean(axes)));
  numbers.push_back(abs(x).max(axes));
}

/// Adds one result with all numbers, which are scalars of any float type.
inline void reportNumbers(Step &step, llvm::ArrayRef<mlir::Value> numbers,
                          llvm::StringRef name) {
  llvm::SmallVector<mlir::Value> parts;
  for (mlir::Value number : numbers)
    parts.push_back(
        step.expr(number).cast(step.builder.getF32Type()).reshape({1}));
  if (!parts.empty())
    addResult(step.f,
              step.expr(parts.front())
                  .make<ir::ConcatOp>(mlir::ValueRange(parts), uint64_t(0)),
              name);
}

} // namespace dlc
