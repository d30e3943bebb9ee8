// SPDX-License-Identifier: Apache-2.0
// The steps of a run, started ahead of what is known of them: the host starts
// step N + 1 before it reads the report of step N, so that a GPU never waits.
#pragma once

#include "runtime/train/setup/RunSetup.h"

#include <deque>
#include <optional>

namespace dlc {

// What an update reports.
struct StepReport {
  int64_t step = 0;               // the first of a run is 1
  std::span<const double> values; // by Session::metricNames(); until the next
  // From the start of the step, or from the report before if that came later.
  double seconds = 0;
  double waited = 0; // for its samples, before it started; of rank 0's own
  double made = 0;   // of the loader's thread, which made samples meanwhile
  // Of this rank's `seconds`, what it waited for others in collectives, and
  // what is neither that nor waiting for samples; none where the device waits.
  std::optional<double> blocked = {}, computed = {};
};

class Steps {
public:
  // `progress` is of what was started: the device may be behind.
  Steps(RunSetup &setup, Progress &progress)
      : setup_(setup), progress_(progress) {}

  // Starts the next update, of as many batches as its window has, and counts
  // it; with a gradient made infinite if the test hook says so. All but the
  // first, which binds, are profiled if the options say so.
  Status start(Loader &loader);
  // Ranks that step by themselves meet (Session::syncRanks). That is part of
  // the next step's time.
  Status meet();
  // Updates whose reports were not read, and how many are wanted: the rest of
  // the run is known.
  int64_t unread() const { return static_cast<int64_t>(started_.size()); }
  int64_t ahead() const { return setup_.session->executor().runsAhead(); }
  // The oldest report; waits for its update.
  Result<StepReport> read();
  // The share of the time since the first step that steps waited for samples;
  // 0 if it is not worth telling.
  double shareWaited() const;
  // Waits for all updates without a look at what they report.
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
  double metBlocked_ = 0;                    // of that, as `blocked`
  std::optional<Clock::time_point> first_;   // of this process
  double waited_ = 0;                        // since then
  double waitedBefore_ = 0, madeBefore_ = 0; // by the loader, at the last start
};

} // namespace dlc
