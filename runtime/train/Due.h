// SPDX-License-Identifier: Apache-2.0
// What a run has to do between two steps.
#pragma once

#include "runtime/train/Signals.h"
#include "runtime/train/run/Checkpoints.h"

namespace dlc {

// What of a run's options decides it.
struct DueRules {
  int64_t total = 0; // steps
  bool validates = false;
  int64_t saveEvery = 0;  // steps between checkpoints; 0: none
  double saveSeconds = 0; // or seconds; with neither, each epoch has one
  int64_t checkEvery = 0; // steps between comparisons of ranks; 0: none
  int64_t syncEvery = 0;  // steps of ranks by themselves; 0: none
};

struct Due {
  bool validates = false;
  bool saves = false;
  bool endsEpoch = false; // also without a validation
  bool ends = false;      // the run, after a checkpoint
  bool compares = false;  // the ranks
  bool syncs = false;     // ranks that step by themselves, before all else

  bool isAny() const { return validates || saves || endsEpoch || compares; }
};

// After the step that `progress` names, the same on all ranks. Whether a
// checkpoint is also the best, or patience is over, a validation tells later.
Due dueAfter(const Progress &progress, const DueRules &rules,
             const SignalRequest &asked);

} // namespace dlc
