// SPDX-License-Identifier: Apache-2.0
// Files that other tools read a run by: a class each, one line in Recorder.cpp.
#pragma once

#include "runtime/train/Hooks.h"
#include "runtime/train/TrainOptions.h"
#include "runtime/train/session/Statistics.h"

#include <memory>
#include <vector>

namespace dlc {

struct StatisticsEvent {
  int64_t step = 0;
  std::span<const std::string> names; // of parameters
  std::span<const ParameterStatistics> values;
};

// Of rank 0. A file that cannot be written never ends a run: a warning says so
// once.
class Recorder {
public:
  virtual ~Recorder() = default;
  virtual void onStep(const StepEvent &) {}
  virtual void onEpoch(const EpochEvent &) {}           // or another validation
  virtual void onStatistics(const StatisticsEvent &) {} // after onStep
  virtual void onEnd() {}                               // unless by an error
};

// results.csv and those that are asked for. What files say of steps behind
// `step`, from which the run continues, is removed.
Result<std::vector<std::unique_ptr<Recorder>>>
openRecorders(const TrainOptions &options, const std::string &run, int64_t step,
              bool hasStatistics);

// RUN/results.csv: a row an epoch or validation.
Result<std::unique_ptr<Recorder>> openCsv(const std::string &path,
                                          int64_t step);
// RUN/stats.jsonl: a line at each of some steps, {"step", "parameters": {NAME:
// {"norm", "mean", "std", "absmax", "update_ratio", "gradient_norm", ...}}}.
Result<std::unique_ptr<Recorder>> openStatistics(const std::string &path,
                                                 int64_t step);
// RUN/tensorboard/events.out.tfevents.*: what a step and a validation report.
Result<std::unique_ptr<Recorder>> openEvents(const std::string &folder,
                                             int64_t step);
// The newest numbers as Prometheus' text, once a second and at the end.
std::unique_ptr<Recorder> openPrometheus(const std::string &path,
                                         const std::string &run);

// Of a step's metric; NaN if there is none of this name.
double metricOf(const StepEvent &event, std::string_view name);

// Says once what cannot be written.
class OneWarning {
public:
  void check(const Status &status);

private:
  bool said_ = false;
};

} // namespace dlc
