// SPDX-License-Identifier: Apache-2.0
// How a run goes back to a checkpoint and writes new ones, on all ranks.
#pragma once

#include "runtime/train/run/Checkpoints.h"
#include "runtime/train/run/RunFolder.h"
#include "runtime/train/session/Takeover.h"
#include "runtime/train/setup/RunSetup.h"

namespace dlc {

// All ranks make the same calls but where it says so; an error is the same on
// all of them.
class Checkpointing {
public:
  // Of a folder that was made. Both must outlive it.
  Checkpointing(RunSetup &setup, RunFolder &folder)
      : setup_(setup), folder_(folder) {}
  // Before a run has begun its first step, which would be in vain if a rank
  // cannot write its part.
  Status open();

  // Goes to the newest checkpoint, or options.checkpoint.
  Status restore(Progress &progress);
  // Makes room for copies, if a checkpoint is due before the end.
  void prepare(const Progress &progress);

  enum class How {
    Planned, // as options.save says: steps may go on meanwhile
    Now,     // known when it returns
    Last,    // as Now, and that it could not be written ends the run
  };
  // Writes a checkpoint. If that fails, on a full disk perhaps, the training
  // goes on and the next one is tried when it is due; not if this is the last,
  // or the run's folder is gone. What became of one that was written meanwhile
  // is known at the next, and of settle().
  Status save(const Progress &progress, How how);
  // On rank 0: warns if what was written meanwhile failed.
  Status settle(bool wait);

  // On any rank, between steps. On rank 0, once a second: an error if the
  // folder is gone, since steps that no checkpoint can keep need not be done;
  // true if it was looked at and is there.
  Result<bool> poll();
  // By rank 0's clock, if the options have a time between checkpoints.
  bool isTimeUp() const;
  // Of the last checkpoint that this process is known to have written.
  int64_t savedStep() const { return savedStep_; }

private:
  using Clock = std::chrono::steady_clock;

  // Whether each rank writes its part of checkpoints.
  bool inParts() const {
    return setup_.options.savesParts() && setup_.ranks.size() > 1;
  }
  bool inBackground() const {
    return setup_.options.save != "sync" && hasRoom_;
  }
  Status load(Progress &progress);
  Status loadFirst(const Progress &progress);
  Status takeOver(Progress &progress);
  Status goOnInData(Progress &progress) const;
  void tellOf(const Takeover &taken, const Progress &progress) const;
  Status leaveOut(const Progress &progress);
  Status share(Progress &progress);
  Status settleBest(Progress &progress);
  void linkToBest(const Best &best) const;
  Result<bool> isSameData(const Progress &progress) const;
  Status checkSameData(const Progress &progress) const;
  void tellOfOtherRanks(const Progress &progress) const;
  Status saveWhole(const Progress &progress, How how);
  Status saveParts(const Progress &progress, How how);
  Result<bool> copyForParts();
  void waitForSaves(const Status &noRoom);
  Status settleBefore(int64_t step);
  Status settle(int64_t step, const Status &saved, bool last);

  RunSetup &setup_;
  RunFolder &folder_;
  std::optional<Checkpoints> checkpoints_; // rank 0's; in parts each has one
  bool hasRoom_ = true;                    // for copies of the state
  int64_t savedStep_ = -1;
  Clock::time_point checked_ = Clock::now(), saved_ = Clock::now();
};

} // namespace dlc
