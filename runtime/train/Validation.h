// SPDX-License-Identifier: Apache-2.0
// A validation between two steps.
#pragma once

#include "runtime/train/setup/RunSetup.h"

namespace dlc {

struct ValidationEvent : EpochEvent {
  std::optional<Judgement> judgement; // of the last weights, if metrics are
};

// Of the last weights ("val_loss") and of each set of averages ("ema_loss"), at
// this place of the run; all ranks call it and get the same. `tell` is called
// with the share that is done, up to 1.
Result<ValidationEvent> validate(RunSetup &setup, const Progress &progress,
                                 const std::function<void(double)> &tell);

} // namespace dlc
