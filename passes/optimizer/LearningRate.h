// SPDX-License-Identifier: Apache-2.0
// The learning rate in the graph, so that it is equal on all ranks and after a
// resume.
#pragma once

#include "passes/Options.h"
#include "passes/Step.h"

namespace dlc {

/// What a schedule gives an update, f64 scalars.
struct Pace {
  ir::Expr lr;
  std::optional<ir::Expr> momentum; // or beta1; none: the optimizer's own
};

std::vector<std::string> scheduleNames();

/// The pace of the update that follows `t` updates, an f64 scalar. Formulas:
/// torch.optim.lr_scheduler, closed forms. What depends on the length of the
/// training adds the state @schedule.steps, what counts epochs
/// @schedule.epoch_steps: the updates of either, which `dlc train` sets where
/// they are 0; what depends on validations adds @plateau, which `dlc train`
/// keeps (runtime/train/run/Plateau.h). The options are valid.
llvm::FailureOr<Pace> paceOf(Step &step, ir::Expr t, double base,
                             const ScheduleOptions &options);

} // namespace dlc
