// SPDX-License-Identifier: Apache-2.0
// Validation between two steps.
#pragma once

#include "runtime/train/setup/RunSetup.h"

namespace dlc {

struct ValidationEvent : EpochEvent {
  std::optional<Judgement> judgement; // of the last weights, with metrics
};

// Evaluates the last weights ("val_loss") and each set of averages
// ("ema_loss"). Collective, with the same result on all ranks. `tell` is called
// with the completed share, up to 1.
Result<ValidationEvent> validate(RunSetup &setup, const Progress &progress,
                                 const std::function<void(double)> &tell);

} // namespace dlc
