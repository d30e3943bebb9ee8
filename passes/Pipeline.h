// SPDX-License-Identifier: Apache-2.0
// The story of training: which passes run in which order.
#pragma once

#include "mlir/Pass/PassManager.h"
#include "passes/Options.h"
#include <functional>
#include <vector>

namespace dlc {

/// A named part of the compilation. `sentence` is true of the program after it.
struct Phase {
  std::string name;
  std::string sentence;
  std::function<void(mlir::OpPassManager &)> add;
};

/// From an imported module to a training step on tensors. Options need not be
/// resolved. The phases own a copy of them.
std::vector<Phase> trainingPhases(StepOptions options);

/// The same of a program that has only @predict.
std::vector<Phase> predictionPhases(StepOptions options);

/// Drops the phases after the one named `last`; none when it is empty. An
/// unknown name drops nothing and gives the message "unknown phase ..., known
/// are ...".
std::optional<std::string> stopAfter(std::vector<Phase> &phases,
                                     const std::string &last);

} // namespace dlc
