// SPDX-License-Identifier: Apache-2.0
// Finds two live ranks that cannot reach each other, from the ranks that wait
// in vain.
#pragma once

#include "runtime/base/process/RunningClock.h"

#include <optional>
#include <utility>
#include <vector>

namespace dlc {

// A rank that waits for one of the two waits in vain, too, and may give up
// first. So there is a short delay between the first report and the verdict,
// which follows the reports from the first rank to the rank it waits for, until
// a rank that waits for no rank, or for its predecessor. In a cycle it is the
// first rank. For one thread.
class Parted {
public:
  using Clock = RunningClock;
  static constexpr std::chrono::milliseconds kMoment{100};

  // `rank` has waited for `peer` in vain; later reports of it are ignored.
  void miss(int rank, int peer, Clock::time_point now);
  // Time to call find(); none before a report, or after its answer.
  std::optional<Clock::time_point> due() const { return due_; }
  // Answers once; the lower rank first.
  std::optional<std::pair<int, int>> find(Clock::time_point now);

private:
  std::optional<int> missedBy(int rank) const;

  std::vector<std::pair<int, int>> misses_; // (who, whom), the first one first
  std::optional<Clock::time_point> due_;
};

} // namespace dlc
