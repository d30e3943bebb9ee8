// SPDX-License-Identifier: Apache-2.0
// What rank 0's store knows of the ranks' signs of life.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dlc {

// Without a sign of life for so long a rank is lost. A thread of its own gives
// them: one that computes, reads or waits is not silent.
constexpr std::chrono::milliseconds kSilence{10'000};

// How often a rank gives one; 0 for "never silent" is as good as kSilence.
std::chrono::milliseconds pauseBetweenBeats(std::chrono::milliseconds silence);

// For one thread.
class Heartbeats {
public:
  using Clock = std::chrono::steady_clock;

  // Of ranks 0 to size - 1; `silence` 0: nobody is ever silent.
  Heartbeats(int size, std::chrono::milliseconds silence)
      : silence_(silence), places_(static_cast<size_t>(size)) {}

  // A rank lives, and says how far it is (progressOf(), StoreClient.h).
  void hear(int rank, int64_t progress, Clock::time_point now);
  // It has left: it may be silent.
  void release(int rank);
  // This process did not run for so long: nobody could be heard.
  void skip(Clock::duration stopped);

  // The first rank that is silent too long; it is released.
  std::optional<int> findSilent(Clock::time_point now);
  // Whether and how soon to look again.
  std::optional<std::chrono::milliseconds> pause() const;

  // Of each rank, in order, two numbers of 8 bytes: what it said last, and
  // milliseconds since it was heard (-1: it never was, or it has left).
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
