// SPDX-License-Identifier: Apache-2.0
// Decides after a step whether the run continues, and writes a replay if not.
#pragma once

#include "runtime/exec/Executor.h"
#include "runtime/train/record/Recorders.h"
#include "runtime/train/run/Checkpointing.h"
#include "runtime/train/session/State.h"

namespace dlc {

// Single skipped steps are accepted. Too many consecutive ones, or a loss that
// is not finite in a step that was not skipped, end the run with a replay
// (Replay.h), which needs the state before that step:
// - A step that may end the run by being skipped is decisive: it is started
//   after all steps before it were read and the state that a skipped step
//   changes was copied, and read before the next one starts. Most steps are
//   not decisive and copy nothing.
// - After a loss that is not finite the run restores its newest checkpoint and
//   repeats the steps up to this one.
// With TrainOptions::debugOverflow every step is decisive and copies all state.
class Guard {
public:
  // What is needed to repeat a step, and the recorders to notify before
  // printing.
  struct Run {
    RunSetup &setup;
    const RunFolder &folder;
    Progress &progress;
    Checkpointing &checkpointing;
    Steps &steps;
    const Recorders &recorders;
  };
  explicit Guard(const Run &run);

  // Whether the next step may end the run by being skipped, given the number of
  // unread steps before it.
  bool isDecisive(int64_t unread) const;
  // Call before a decisive step is started.
  Status keepState();

  // Code::Diverged if the run ends with this step.
  Status check(const StepReport &report);

private:
  // A failed step.
  struct Bad {
    const StepReport &report;
    bool skipped = false;
    bool ends = false; // the run ends with it
    std::string text;
  };
  Status examine(const Bad &bad);
  Status goBack(const Bad &bad);

  Run run_;
  bool maySkip_;
  int64_t skips_ = 0; // consecutive
  // Before the decisive step: all states, or those that a skipped step changes:
  // all but parameters, moments and averages.
  StateBytes before_;
};

} // namespace dlc
