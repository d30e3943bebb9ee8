// SPDX-License-Identifier: Apache-2.0
// The schedule "plateau": lowers the learning rate when validations stop
// improving, by the rule of torch's ReduceLROnPlateau with a relative
// threshold.
#pragma once

#include "runtime/exec/Executor.h"

namespace dlc {

// The program's state "plateau", which checkpoints include.
struct PlateauState {
  double reductions = 0; // rate: lr factor^reductions, at least min_lr
  double waited = 0;     // validations since an improvement or a reduction
  double isKnown = 0;    // 1: there is a best value
  double best = 0;
};

// Updates the state after a validation; true if the rate is reduced. NaN is no
// improvement. As in torch, a rate that would change by less than 1e-8 is kept.
bool takeValue(PlateauState &state, const plan::Plateau &rule, double value,
               bool more);
double rateOf(const PlateauState &state, const plan::Plateau &rule);

// The same for the executor's state; returns the rate if it is reduced.
// Collective, between two steps.
Result<std::optional<double>> reduceOnPlateau(Executor &executor, double value,
                                              bool more);

} // namespace dlc
