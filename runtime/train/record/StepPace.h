// SPDX-License-Identifier: Apache-2.0
// How fast a run is, and when it shows where it is.
#pragma once

#include "runtime/train/record/Recorder.h"

#include <chrono>

namespace dlc {

// Of the steps that this process does.
class StepPace {
public:
  using Clock = std::chrono::steady_clock;

  // Shown every options.logEvery steps; without it after `interval`.
  StepPace(const Recorded &of, std::chrono::milliseconds interval)
      : first_(of.progress.step), total_(of.setup.total),
        every_(of.setup.options.logEvery),
        samples_(of.setup.sampling.samplesOfUpdate()), interval_(interval) {}

  void start() { start_ = last_ = Clock::now(); }
  // Where the run is; true if it is to be shown.
  bool reaches(int64_t step);
  // What is between them takes no time of steps.
  void pause() { paused_ = Clock::now(); }
  void resume() { between_ += Clock::now() - paused_; }

  int64_t step() const { return step_; }
  int64_t total() const { return total_; }
  double seconds() const;
  double stepsPerSecond() const;
  double samplesPerSecond() const { // of all ranks
    return stepsPerSecond() * static_cast<double>(samples_);
  }
  double secondsLeft() const {
    return static_cast<double>(total_ - step_) / stepsPerSecond();
  }

private:
  int64_t first_, total_, every_, samples_;
  std::chrono::milliseconds interval_;
  int64_t step_ = first_;
  Clock::time_point start_ = Clock::now(), last_ = start_, paused_;
  Clock::duration between_{};
};

// The memory that only this process has: not files that it has mapped, which
// the system takes back when it wants to.
uint64_t bytesOfProcess();

} // namespace dlc
