// SPDX-License-Identifier: Apache-2.0
// Whether a run goes on after a step, and what it leaves if not.
#pragma once

#include "runtime/train/overflow/Snapshot.h"
#include "runtime/train/record/Recorders.h"
#include "runtime/train/run/Checkpointing.h"

namespace dlc {

// Skipped steps are borne; too many in a row, and a loss that is not finite in
// a step that was not skipped, end the run with a replay (Replay.h), which
// needs the state before that step:
// - A step that may end the run by being skipped is only started when all
//   before it is known, after a copy of what a skipped step changes; and it is
//   known before the next one starts. Most steps cannot: nothing is copied.
// - After a loss that is not finite the run goes back to its newest checkpoint
//   and from there on to the step.
// With TrainOptions::debugOverflow every step is such a step, all is copied.
class Guard {
public:
  // What a step is done again with, and who is told before anything is printed.
  struct Run {
    RunSetup &setup;
    const RunFolder &folder;
    Progress &progress;
    Checkpointing &checkpointing;
    Steps &steps;
    const Recorders &recorders;
  };
  explicit Guard(const Run &run);

  // Whether the next step may end the run by being skipped, if nothing is known
  // of this many before it.
  bool isDecisive(int64_t unread) const;
  // Before a decisive step is started.
  Status keepState();

  // Code::Diverged if the run ends with this step.
  Status check(const StepReport &report);

private:
  // A step that went wrong.
  struct Bad {
    const StepReport &report;
    bool skipped = false;
    bool ends = false; // the run
    std::string text;
  };
  Status examine(const Bad &bad);
  Status goBack(const Bad &bad);

  Run run_;
  bool maySkip_;
  int64_t skips_ = 0; // in a row
  Snapshot before_;   // the decisive step
};

} // namespace dlc
