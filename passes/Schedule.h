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

/// The pace of the update that follows `t` updates, an f64 scalar. Formulas:
/// torch.optim.lr_scheduler, closed forms. What depends on the length of the
/// training adds the state @schedule.steps, what counts epochs
/// @schedule.epoch_steps: the updates of either, which `dlc train` sets where
/// they are 0. Fails, with an error, on options that make no sense.
llvm::FailureOr<Pace> paceOf(Step &step, ir::Expr t, double base,
                             const ScheduleOptions &options);

/// Copies all but the name between ScheduleOptions and a pass's options.
template <class From, class To> void copySchedule(const From &from, To &to) {
  to.perEpoch = from.perEpoch;
  to.warmup = from.warmup;
  to.totalSteps = from.totalSteps;
  to.decaySteps = from.decaySteps;
  to.decayRate = from.decayRate;
  to.milestones.assign(from.milestones.begin(), from.milestones.end());
  to.startFactor = from.startFactor;
  to.endFactor = from.endFactor;
  to.minLr = from.minLr;
  to.cycleSteps = from.cycleSteps;
  to.cycleMult = from.cycleMult;
  to.cycleDecay = from.cycleDecay;
  to.power = from.power;
  to.pctStart = from.pctStart;
  to.divFactor = from.divFactor;
  to.finalDivFactor = from.finalDivFactor;
  to.cycleMomentum = from.cycleMomentum;
  to.baseMomentum = from.baseMomentum;
  to.maxMomentum = from.maxMomentum;
}

} // namespace dlc
