// The learning rate in the graph, so that it is equal on all ranks and after a
// resume.
#pragma once

#include "passes/Options.h"
#include "passes/Step.h"

namespace dlc {

/// The rate of the update that follows `t` updates; t and the result are f64
/// scalars. Formulas: torch.optim.lr_scheduler, closed forms. A cosine adds the
/// state @schedule.steps. Fails, with an error, on options that make no sense.
llvm::FailureOr<ir::Expr> learningRate(Step &step, ir::Expr t, double base,
                                       const ScheduleOptions &options);

} // namespace dlc
