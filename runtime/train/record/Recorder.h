// SPDX-License-Identifier: Apache-2.0
// Files that other tools read a run by: a class each, one line in Recorder.cpp.
#pragma once

#include "runtime/train/Hooks.h"
#include "runtime/train/TrainOptions.h"
#include "runtime/train/run/RunLock.h"
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

// Those that are asked for, results.csv, results.svg and results.png. What
// files say of steps behind `step`, from which the run goes on, is forgotten.
// `lock` is the run's and outlives them.
Result<std::vector<std::unique_ptr<Recorder>>>
openRecorders(const TrainOptions &options, const std::string &run,
              RunLock &lock, int64_t step, bool hasStatistics);

// RUN/results.csv: a row an epoch or validation.
Result<std::unique_ptr<Recorder>> openCsv(const std::string &path,
                                          int64_t step);
// RUN/results.svg and results.png: curves of steps and validations, with what
// metrics.jsonl and epochs.jsonl say already, at ends of epochs and of the run:
// the one every 2 s at most, the other every minute. Drawing takes a while: the
// lock says whether the folder is still the run's when a picture is ready.
Result<std::unique_ptr<Recorder>> openPicture(const std::string &run,
                                              RunLock &lock);
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

// The same over HTTP (MetricsServer.h), to who asks at options.metricsPort.
Result<std::unique_ptr<Recorder>> openMetricsPort(const TrainOptions &options,
                                                  const std::string &run);
// A run of MLflow's in the folder options.mlflow: all that steps and
// validations report, and the settings of the run and of its model.
Result<std::unique_ptr<Recorder>>
openMlflow(const TrainOptions &options, const std::string &run, int64_t step);

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
