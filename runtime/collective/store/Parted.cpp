// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/store/Parted.h"

#include <algorithm>
#include <tuple>

namespace dlc {

void Parted::miss(int rank, int peer, Clock::time_point now) {
  if (rank == peer || missedBy(rank))
    return;
  misses_.emplace_back(rank, peer);
  if (misses_.size() == 1)
    due_ = now + kMoment;
  if (due_ && missedBy(peer) == rank)
    due_ = now;
}

std::optional<int> Parted::missedBy(int rank) const {
  for (const auto &[who, whom] : misses_)
    if (who == rank)
      return whom;
  return std::nullopt;
}

std::optional<std::pair<int, int>> Parted::find(Clock::time_point now) {
  if (!due_ || now < *due_)
    return std::nullopt;
  due_.reset();
  auto [who, whom] = misses_.front();
  size_t turns = 0;
  for (auto next = missedBy(whom); next && *next != who;
       next = missedBy(whom)) {
    who = std::exchange(whom, *next);
    if (++turns == misses_.size()) { // a cycle
      std::tie(who, whom) = misses_.front();
      break;
    }
  }
  return std::minmax({who, whom});
}

} // namespace dlc
