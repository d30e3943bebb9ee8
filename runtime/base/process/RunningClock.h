// SPDX-License-Identifier: Apache-2.0
// A clock for deadlines that does not advance while this process is stopped.
#pragma once

#include <chrono>

namespace dlc {

// std::chrono::steady_clock without the time in which this process did not run:
// Ctrl-Z, SIGSTOP, a suspended job, a paused machine. It advances by at most
// kMost between two calls by any threads, so a thread that waits for a deadline
// must wait in slices and check the clock after each. Thread-safe.
struct RunningClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<RunningClock>;
  static constexpr bool is_steady = true;

  static constexpr std::chrono::milliseconds kSlice{100}, kMost{500};

  static time_point now();
  // How long to wait now, 0 to kSlice, for something due at `deadline`.
  static std::chrono::milliseconds sliceUntil(time_point deadline);
};

} // namespace dlc
