// SPDX-License-Identifier: Apache-2.0
// Actions that are due between two steps.
#pragma once

#include "runtime/train/Signals.h"
#include "runtime/train/run/Checkpoints.h"

namespace dlc {

// The options that determine which actions are due.
struct DueRules {
  int64_t total = 0; // steps
  bool validates = false;
  int64_t saveEvery = 0;  // steps between checkpoints; 0: none
  double saveSeconds = 0; // or seconds; with neither, one per epoch
  int64_t checkEvery = 0; // steps between comparisons of ranks; 0: none
  int64_t syncEvery = 0;  // steps between averages of parameters; 0: none
};

struct Due {
  bool validates = false;
  bool saves = false;
  bool endsEpoch = false; // even without validation
  bool ends = false;      // the run ends, after a checkpoint
  bool compares = false;  // comparison of ranks
  bool syncs = false;     // parameters are averaged, before all else

  bool isAny() const { return validates || saves || endsEpoch || compares; }
};

// Evaluated after the step in `progress`, with the same result on all ranks.
// Whether a checkpoint is also the best, and whether patience is over, depends
// on the validation.
Due dueAfter(const Progress &progress, const DueRules &rules,
             const SignalRequest &asked);

} // namespace dlc
