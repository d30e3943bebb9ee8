// SPDX-License-Identifier: Apache-2.0
// Records a device's collectives in the flight log. A step is enqueued as one
// launch, so the collectives of a step end when all of its work is completed.
#pragma once

#include "runtime/collective/flight/FlightLog.h"

#include <deque>
#include <mutex>

namespace dlc {

// Thread-safe.
class LaunchLog {
public:
  explicit LaunchLog(FlightLog *log) : log_(log) {} // null: records nothing

  // Call before a collective is enqueued.
  void begin(const char *operation, uint64_t bytes, int subject) {
    if (!log_)
      return;
    std::lock_guard lock(mutex_);
    begun_.push_back({log_->begin(FlightLog::kDevice, sequence_++, operation,
                                  bytes, subject),
                      0});
  }
  // The collectives begun since the last call belong to the work `stamp`.
  void stamp(uint64_t stamp) {
    std::lock_guard lock(mutex_);
    for (size_t i = begun_.size(); i-- > 0 && begun_[i].stamp == 0;)
      begun_[i].stamp = stamp;
  }
  // All work up to number `stamp` is completed.
  void complete(uint64_t stamp) {
    std::lock_guard lock(mutex_);
    for (; !begun_.empty() && begun_.front().stamp > 0 &&
           begun_.front().stamp <= stamp;
         begun_.pop_front())
      log_->end(begun_.front().number, true);
  }

private:
  struct Begun {
    uint64_t number, stamp; // in the flight log; 0: not known yet
  };

  FlightLog *const log_;
  std::mutex mutex_;
  uint64_t sequence_ = 0;
  std::deque<Begun> begun_;
};

} // namespace dlc
