// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/process/RunningClock.h"

#include <algorithm>
#include <mutex>

namespace dlc {

RunningClock::time_point RunningClock::now() {
  static std::mutex mutex;
  static auto last = std::chrono::steady_clock::now();
  static time_point running;
  const std::lock_guard lock(mutex);
  const auto now = std::chrono::steady_clock::now();
  running += std::min<duration>(now - last, kMost);
  last = now;
  return running;
}

std::chrono::milliseconds RunningClock::sliceUntil(time_point deadline) {
  return std::clamp(
      std::chrono::ceil<std::chrono::milliseconds>(deadline - now()),
      std::chrono::milliseconds(0), kSlice);
}

} // namespace dlc
