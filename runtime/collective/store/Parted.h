// SPDX-License-Identifier: Apache-2.0
// Which two ranks do not reach each other, of those that wait in vain for ranks
// that are there.
#pragma once

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

namespace dlc {

// Who waits for one of such a pair waits in vain, too, and may give up first.
// So a moment passes from the first that is told to the verdict: from its rank
// it goes from who waits to whom that one waits for, until one is met who waits
// for nobody, or for the one before. Where they wait in a circle it is the
// first. For one thread.
class Parted {
public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kMoment{100};

  // `rank` has waited for `peer` in vain; what it says later does not count.
  void miss(int rank, int peer, Clock::time_point now);
  // When find() is to be asked; none if nothing was told, or it has answered.
  std::optional<Clock::time_point> due() const { return due_; }
  // Once; the lower number first.
  std::optional<std::pair<int, int>> find(Clock::time_point now);

private:
  std::optional<int> missedBy(int rank) const;

  std::vector<std::pair<int, int>> misses_; // (who, whom), the first one first
  std::optional<Clock::time_point> due_;
};

} // namespace dlc
