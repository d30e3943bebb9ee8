// SPDX-License-Identifier: Apache-2.0
// The ranks' heartbeats, as received by rank 0's store.
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

// Interval of a rank's heartbeats; with silence 0 (no limit) as for kSilence.
std::chrono::milliseconds pauseBetweenBeats(std::chrono::milliseconds silence);

// Not thread-safe.
class Heartbeats {
public:
  using Clock = RunningClock;

  // For ranks 0 to size - 1; with `silence` 0 no rank is lost by silence.
  Heartbeats(int size, std::chrono::milliseconds silence)
      : silence_(silence), places_(static_cast<size_t>(size)) {}

  // Records a heartbeat with the rank's progressOf() (StoreClient.h).
  void hear(int rank, int64_t progress, Clock::time_point now);
  // Records another sign of life of a rank whose heartbeats are awaited.
  void hear(int rank, Clock::time_point now);
  // The rank has left: its heartbeats are no longer awaited.
  void release(int rank);

  // The first rank whose silence exceeds the limit; it is no longer awaited.
  std::optional<int> findSilent(Clock::time_point now);
  // Time until the next check; empty if none is needed.
  std::optional<std::chrono::milliseconds> pause() const;

  // For each rank, in order, two i64: its last progress, and the milliseconds
  // since its last heartbeat (-1: none yet, or it has left).
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
