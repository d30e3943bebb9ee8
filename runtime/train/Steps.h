// SPDX-License-Identifier: Apache-2.0
// Runs steps asynchronously: the host starts step N + 1 before it reads the
// report of step N, so that a GPU is never idle.
#pragma once

#include "runtime/train/setup/RunSetup.h"

#include <deque>
#include <optional>

namespace dlc {

// The report of an update.
struct StepReport {
  int64_t step = 0;               // the first of a run is 1
  std::span<const double> values; // of Session::metricNames(), until next read
  // Seconds since the later of the step's start and the previous report.
  double seconds = 0;
  double waited = 0; // seconds that this rank waited for samples
  double made = 0;   // seconds in which the loader made samples, concurrently
  // The part of `seconds` in which this rank waited in collectives, and the
  // part without this and without waiting for samples; unset on a device that
  // executes a step as one launch.
  std::optional<double> blocked = {}, computed = {};
};

class Steps {
public:
  // `progress` counts started steps, which the device may not have completed.
  Steps(RunSetup &setup, Progress &progress)
      : setup_(setup), progress_(progress) {}

  // Starts the next update with all micro-batches of its window.
  // RunSetup::injects() makes a gradient infinite. If enabled, profiles all
  // updates but the first, which includes binding.
  Status start(Loader &loader);
  // Averages the parameters of ranks that step independently
  // (Session::syncRanks). Its time is part of the next step's.
  Status meet();
  // Number of started updates whose reports are unread, and the number at which
  // to start reading.
  int64_t unread() const { return int64_t(started_.size()); }
  int64_t ahead() const { return setup_.session->executor().runsAhead(); }
  // Blocks until the oldest unread update has finished, and returns its report.
  Result<StepReport> read();
  // Share of the time since the first step spent waiting; 0 if negligible.
  double shareWaited() const;
  // Blocks until all updates have finished, ignoring their reports.
  Status discard();

private:
  using Clock = std::chrono::steady_clock;
  struct Started {
    int64_t step;
    Clock::time_point since;
    double waited, made, waitedWithin; // since then
    std::optional<double> blockedBefore;
  };

  RunSetup &setup_;
  Progress &progress_;
  std::deque<Started> started_;
  Clock::time_point lastRead_{};
  Clock::duration met_{};                    // since the last start
  double metBlocked_ = 0;                    // its part in collectives
  std::optional<Clock::time_point> first_;   // of this process
  double waited_ = 0;                        // since then
  double waitedBefore_ = 0, madeBefore_ = 0; // at the last start
};

} // namespace dlc
