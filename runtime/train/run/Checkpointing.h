// SPDX-License-Identifier: Apache-2.0
// Restores and writes checkpoints of a run on all ranks.
#pragma once

#include "runtime/train/run/Checkpoints.h"
#include "runtime/train/run/RunFolder.h"
#include "runtime/train/session/State.h"
#include "runtime/train/setup/RunSetup.h"

namespace dlc {

// Functions are collective unless noted; errors are the same on all ranks.
class Checkpointing {
public:
  // For an existing folder. Both must outlive it.
  Checkpointing(RunSetup &setup, RunFolder &folder)
      : setup_(setup), folder_(folder) {}
  // Call before the first step: finds ranks that cannot write their parts.
  Status open();

  // Restores the newest checkpoint, or options.checkpoint.
  Status restore(Progress &progress);
  // Allocates copies of the state, if a checkpoint is due before the end.
  void prepare(const Progress &progress);

  enum class How {
    Planned, // by options.save: steps may continue meanwhile
    Now,     // synchronous
    Last,    // like Now, but failure to write ends the run
  };
  // Writes a checkpoint. After a failure, such as a full disk, training
  // continues and the next checkpoint is tried when due, unless this is the
  // last one or the run's folder is gone. The result of a background write is
  // reported by the next call and by settle().
  Status save(const Progress &progress, How how);
  // On rank 0: warns if the background write failed.
  Status settle(bool wait);

  // Called on any rank between steps. On rank 0, once a second: an error if the
  // folder is gone, since further steps could not be saved; true if it was
  // checked and exists.
  Result<bool> poll();
  // By rank 0's clock, if the options set a time between checkpoints.
  bool isTimeUp() const;
  // Step of the last checkpoint that this process has successfully written.
  int64_t savedStep() const { return savedStep_; }

private:
  using Clock = std::chrono::steady_clock;

  // Whether each rank writes a part of checkpoints.
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
  bool isSameData(const Progress &progress) const;
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
  std::optional<Checkpoints> checkpoints_; // on rank 0, or on all if in parts
  bool hasRoom_ = true;                    // for copies of the state
  int64_t savedStep_ = -1;
  Clock::time_point checked_ = Clock::now(), saved_ = Clock::now();
};

} // namespace dlc
