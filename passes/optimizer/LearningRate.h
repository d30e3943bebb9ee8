// SPDX-License-Identifier: Apache-2.0
// The learning rate as part of the graph, so that it is equal on all ranks and
// after a resume.
#pragma once

#include "passes/Options.h"
#include "passes/Step.h"

namespace dlc {

/// Values of a schedule for one update, as f64 scalars.
struct Pace {
  ir::Expr lr;
  std::optional<ir::Expr> momentum; // or beta1; unset: the option's
};

std::vector<std::string> scheduleNames();

/// The values for the update that follows `t` updates (an f64 scalar), by the
/// closed forms of torch.optim.lr_scheduler. Schedules that depend on the
/// length of the training add the state @schedule.steps, those that use epochs
/// @schedule.epoch_steps: numbers of updates, which `dlc train` sets where they
/// are 0. Schedules that depend on validations add @plateau, which `dlc train`
/// updates (runtime/train/run/Best.h). The options must be valid.
llvm::FailureOr<Pace> paceOf(Step &step, ir::Expr t, double base,
                             const ScheduleOptions &options);

} // namespace dlc
