// SPDX-License-Identifier: Apache-2.0
// Which rank the others wait for. All ranks' steps take equally long, since
// collectives wait for the last one: it is the one that waits least.
#pragma once

#include "runtime/collective/Communicator.h"
#include "runtime/train/Steps.h"

#include <span>

namespace dlc {

// Of a rank, seconds of a step in the mean over some.
struct RankTime {
  std::string host;
  double step = 0;
  // For samples; what a step has beside that and the next; for other ranks, and
  // for what travels between them. The last two are NaN on a device that waits
  // itself: a step is one launch, and no host sees what it waits for.
  double waited = 0, computed = 0, blocked = 0;
  double made = 0; // samples, beside all that
};

struct SlowRank {
  int rank = -1;          // below 0: there is none
  bool isWaiting = false; // for samples; else it computes
  // "rank 3 (host b) computes 1.8 times as long as the median rank: the others
  // wait 41 of 96 ms a step for it", or "... waits 52 ms a step for samples".
  std::string text;
};

// The one for which the others wait for a tenth of a step or more. One that
// waits for its samples also makes them more slowly: of ranks whose samples
// come equally late the last one is no better than others.
SlowRank slowRank(std::span<const RankTime> ranks);

struct RanksEvent {
  int64_t step = 0; // the last of them
  std::vector<RankTime> ranks;
  SlowRank slow;
};

class RankTimes {
public:
  // Over `every` steps, or 100 if that is 0; fewer than 10 say nothing.
  RankTimes(Communicator &ranks, int64_t every)
      : ranks_(ranks), every_(every ? std::max(every, kLeast) : 100) {}

  // What the ranks did, in steps whose number is a multiple of `every`: then
  // they exchange a line of text each. All call it for the same steps. The
  // first one, which binds, is left out. A rank alone has nothing to say.
  Result<std::optional<RanksEvent>> add(const StepReport &report);
  // This rank waited for others outside of a step.
  void addBlocked(std::chrono::duration<double> time) {
    sum_.blocked += time.count();
  }

private:
  static constexpr int64_t kLeast = 10;

  Communicator &ranks_;
  const int64_t every_;
  int64_t count_ = -1; // of steps; the first begins
  RankTime sum_;
};

} // namespace dlc
