// SPDX-License-Identifier: Apache-2.0
// A clock for deadlines, which stands still while this process is stopped.
#pragma once

#include <chrono>

namespace dlc {

// std::chrono::steady_clock without the time for which this process did not
// run: Ctrl-Z, SIGSTOP, a suspended job, a paused machine. It advances by at
// most kMost between two calls, by any threads; so whoever waits until a
// deadline does so in slices, and then looks at the clock. Any thread.
struct RunningClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<RunningClock>;
  static constexpr bool is_steady = true;

  static constexpr std::chrono::milliseconds kSlice{100}, kMost{500};

  static time_point now();
  // The time to wait now for what must come until then: 0 to kSlice.
  static std::chrono::milliseconds sliceUntil(time_point deadline);
};

} // namespace dlc
