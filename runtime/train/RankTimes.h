// SPDX-License-Identifier: Apache-2.0
// Finds the rank that the others wait for. Steps take equally long on all
// ranks, since collectives wait for the last one, which is the rank that waits
// least.
#pragma once

#include "runtime/collective/Communicator.h"
#include "runtime/train/Steps.h"

#include <span>

namespace dlc {

// Times of a rank in seconds per step, averaged over some steps.
struct RankTime {
  std::string host;
  double step = 0;
  // Waiting for samples; the rest of a step and of the time to the next;
  // waiting for other ranks and communication. The last two are NaN on a device
  // that executes a step as one launch, since the host cannot observe its
  // waits.
  double waited = 0, computed = 0, blocked = 0;
  double made = 0; // making samples, concurrently
};

struct SlowRank {
  int rank = -1;          // below 0: no rank
  bool isWaiting = false; // for samples; else it computes
  // "rank 3 (host b) computes 1.8 times as long as the median rank: the others
  // wait 41 of 96 ms a step for it", or "... waits 52 ms a step for samples".
  std::string text;
};

// Finds a rank for which the others wait at least a tenth of a step. A rank
// that waits for samples must also spend more time on making them than the
// median: if samples are late on all ranks alike, none is slow.
SlowRank slowRank(std::span<const RankTime> ranks);

struct RanksEvent {
  int64_t step = 0; // the last of the averaged steps
  std::vector<RankTime> ranks;
  SlowRank slow;
};

class RankTimes {
public:
  // Averages over `every` steps, 100 if that is 0, and at least 10.
  RankTimes(Communicator &ranks, int64_t every)
      : ranks_(ranks), every_(every ? std::max(every, kLeast) : 100) {}

  // Adds a step; in steps whose number is a multiple of `every`, ranks exchange
  // a line of text each. Collective, for the same steps on all ranks. Ignores
  // the first step, which includes binding. A single rank gets no events.
  Result<std::optional<RanksEvent>> add(const StepReport &report);
  // Adds time that this rank waited for others between steps.
  void addBlocked(std::chrono::duration<double> time) {
    sum_.blocked += time.count();
  }

private:
  static constexpr int64_t kLeast = 10;

  Communicator &ranks_;
  const int64_t every_;
  int64_t count_ = -1; // steps; the first is ignored
  RankTime sum_;
};

} // namespace dlc
