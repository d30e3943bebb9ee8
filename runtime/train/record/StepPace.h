// SPDX-License-Identifier: Apache-2.0
// Speed of a run, and when to show its progress.
#pragma once

#include "runtime/train/record/Recorder.h"

#include <chrono>

namespace dlc {

// For the steps of this process.
class StepPace {
public:
  using Clock = std::chrono::steady_clock;

  // Shows progress every options.logEvery steps, or after `interval` if that is
  // 0.
  StepPace(const Recorded &of, std::chrono::milliseconds interval)
      : first_(of.progress.step), total_(of.setup.total),
        every_(of.setup.options.logEvery),
        samples_(of.setup.sampling.samplesOfUpdate()), interval_(interval) {}

  void start() { start_ = last_ = Clock::now(); }
  // Records the step; true if progress is to be shown.
  bool reaches(int64_t step);
  // The time until the next call of reaches() is not counted as steps.
  void pause() { paused_ = Clock::now(); }
  void resume() { between_ += Clock::now() - paused_; }

  int64_t step() const { return step_; }
  int64_t total() const { return total_; }
  double seconds() const;
  double stepsPerSecond() const;
  double samplesPerSecond() const { // of all ranks
    return stepsPerSecond() * double(samples_);
  }
  double secondsLeft() const {
    return double(total_ - step_) / stepsPerSecond();
  }

private:
  int64_t first_, total_, every_, samples_;
  std::chrono::milliseconds interval_;
  int64_t step_ = first_;
  Clock::time_point start_ = Clock::now(), last_ = start_, paused_;
  Clock::duration between_{};
};

// Bytes of memory private to this process, without mapped files, which the
// system can reclaim.
uint64_t bytesOfProcess();

} // namespace dlc
