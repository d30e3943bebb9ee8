// SPDX-License-Identifier: Apache-2.0
// The best validation of a run, and the number of validations since.
#pragma once

#include "runtime/exec/Executor.h"

#include <cmath>
#include <string>

namespace dlc {

// Stored in checkpoints, so that a resumed run decides the same.
struct Best {
  double value = NAN;
  int64_t step = -1; // of its checkpoint; below 0: none
  // The value that a validation must improve by the minimum difference, and the
  // number of consecutive ones that did not.
  double reference = NAN;
  int64_t waited = 0;
};

// Parsed `--best`: "accuracy", "ema_f1.macro", "loss".
struct BestBy {
  std::string key;    // among a validation's values: "val_accuracy"
  std::string metric; // "accuracy"
  bool more = false;  // larger is better
};
// Code::Usage for an unknown metric, or one that is not a scalar.
Result<BestBy> parseBest(const std::string &text);

// Updates `best` after a validation; true if it is the best so far. NaN and
// infinity never are.
bool takeValue(Best &best, double value, int64_t step, bool more,
               double minDelta);

// Atomically makes RUN/best a link to the checkpoint of this step; removes the
// link if the step is below 0 or has no checkpoint. An error is a warning.
void linkBest(const std::string &run, int64_t step);

// The schedule "plateau": lowers the learning rate when validations stop
// improving, by the rule of torch's ReduceLROnPlateau with a relative
// threshold.

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
