// SPDX-License-Identifier: Apache-2.0
// The schedule "plateau": a lower learning rate where validations get no
// better, as torch's ReduceLROnPlateau with a relative threshold decides.
#pragma once

#include "runtime/exec/Executor.h"

namespace dlc {

// The state "plateau" of a program, so that checkpoints keep it.
struct PlateauState {
  double reductions = 0; // of the rate: lr factor^reductions, at least min_lr
  double waited = 0;     // validations since a better one or a reduction
  double isKnown = 0;    // 1: there is a best value
  double best = 0;
};

// After a validation; true if it reduces the rate. What is not a number is no
// better. As in torch a rate that would change by less than 1e-8 stays.
bool takeValue(PlateauState &state, const plan::Plateau &rule, double value,
               bool more);
double rateOf(const PlateauState &state, const plan::Plateau &rule);

// The same of the executor's state; the rate if it is reduced. All ranks call
// it, between two steps.
Result<std::optional<double>> reduceOnPlateau(Executor &executor, double value,
                                              bool more);

} // namespace dlc
