// SPDX-License-Identifier: Apache-2.0
// Finds two live ranks that cannot reach each other, from ranks' reports.
#pragma once

#include "runtime/base/process/RunningClock.h"

#include <optional>
#include <utility>
#include <vector>

namespace dlc {

// A rank that waits for one of the two also waits in vain, and may report
// first. So the verdict is delayed briefly after the first report. It then
// follows the reports from the first rank to the rank for which it waits, until
// one has reported nothing or waits for its predecessor; in a cycle it takes
// the first rank. Not thread-safe.
class Parted {
public:
  using Clock = RunningClock;
  static constexpr std::chrono::milliseconds kMoment{100};

  // `rank` has waited for `peer` in vain; its later reports are ignored.
  void miss(int rank, int peer, Clock::time_point now);
  // When to call find(); empty before a report, and after find() has answered.
  std::optional<Clock::time_point> due() const { return due_; }
  // Returns the pair once, the lower rank first.
  std::optional<std::pair<int, int>> find(Clock::time_point now);

private:
  std::optional<int> missedBy(int rank) const;

  std::vector<std::pair<int, int>> misses_; // (rank, peer), the first first
  std::optional<Clock::time_point> due_;
};

} // namespace dlc
