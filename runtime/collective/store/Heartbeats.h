// SPDX-License-Identifier: Apache-2.0
// The heartbeats of the ranks, as rank 0's store receives them.
#pragma once

#include "runtime/base/process/RunningClock.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dlc {

// Time without a heartbeat after which a rank is lost. A separate thread sends
// heartbeats: a rank that computes, reads or waits is not silent.
constexpr std::chrono::milliseconds kSilence{10'000};

// Interval between a rank's heartbeats; without a limit (0) as for kSilence.
std::chrono::milliseconds pauseBetweenBeats(std::chrono::milliseconds silence);

// For one thread.
class Heartbeats {
public:
  using Clock = RunningClock;

  // For ranks 0 to size - 1; `silence` 0: no rank is ever lost by silence.
  Heartbeats(int size, std::chrono::milliseconds silence)
      : silence_(silence), places_(static_cast<size_t>(size)) {}

  // A heartbeat, with the rank's progress (progressOf(), StoreClient.h).
  void hear(int rank, int64_t progress, Clock::time_point now);
  // Another sign of life of a rank whose heartbeats are awaited.
  void hear(int rank, Clock::time_point now);
  // The rank has left and may be silent.
  void release(int rank);

  // The first rank whose silence exceeds the limit; it is removed.
  std::optional<int> findSilent(Clock::time_point now);
  // The time until the next check, if any.
  std::optional<std::chrono::milliseconds> pause() const;

  // For each rank, in order, two numbers of 8 bytes: its last progress, and the
  // milliseconds since its last heartbeat (-1: none yet, or it has left).
  std::string placesText(Clock::time_point now) const;

private:
  struct Place {
    int64_t progress = 0;
    bool known = false;
    Clock::time_point heard{};
  };

  const std::chrono::milliseconds silence_;
  std::vector<Place> places_;
};

} // namespace dlc
