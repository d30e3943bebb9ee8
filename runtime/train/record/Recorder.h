// SPDX-License-Identifier: Apache-2.0
// Observers of a run: each has a row in Recorders.cpp.
#pragma once

#include "runtime/train/Hooks.h"
#include "runtime/train/RankTimes.h"
#include "runtime/train/Validation.h"

#include <memory>

namespace dlc {

struct StatisticsEvent {
  int64_t step = 0;
  std::span<const std::string> names; // of parameters
  std::span<const ParameterStatistics> values;
};

struct SavedEvent {
  const Progress &progress;
  bool asked = false;   // requested by a signal
  bool isKnown = false; // it is complete; false: maybe still being written
};

struct EndEvent {
  double shareWaited = 0; // time waited for samples since the first step
};

// Called on rank 0 by the thread that runs the trainer. A file that cannot be
// written does not end a run; there is one warning.
class Recorder {
public:
  virtual ~Recorder() = default;
  virtual void onStart(const Progress &) {} // before the first step
  virtual void onStep(const StepEvent &) {}
  virtual void onStatistics(const StatisticsEvent &) {} // after onStep
  virtual void onRanks(const RanksEvent &) {} // after onStep of some steps
  // Instead of onStep, if an error ends the run before the step's report is
  // processed.
  virtual void onStepBeforeError(const StepEvent &) {}
  // About once a second, when the run's folder was found to exist.
  virtual void onSecond() {}
  virtual void onPause() {}                      // other output follows
  virtual void onValidating(double /*share*/) {} // completed share
  virtual void onValidation(const ValidationEvent &) {}
  virtual void onEpoch(const EpochEvent &) {} // after its validation
  virtual void onSaved(const SavedEvent &) {} // it has its final name
  virtual void onEnd(const EndEvent &) {}     // not after an error
  // Called once per step: whether the run should end after it.
  virtual bool wantsEnd() { return false; }
};

// Arguments of a recorder. Lines about steps after `progress.step`, where the
// run continues, must be removed.
struct Recorded {
  const RunSetup &setup;
  const std::string &run; // its folder
  const Progress &progress;
};
// Null if the options do not enable it.
using MadeRecorder = Result<std::unique_ptr<Recorder>>;

// RUN/metrics.jsonl: a line per step; RUN/epochs.jsonl: a line per validation;
// RUN/classes.json: the last validation per class.
MadeRecorder openRunLines(const Recorded &of);
// RUN/results.csv: a row per epoch or validation.
MadeRecorder openCsv(const Recorded &of);
// RUN/stats.jsonl: a line every few steps, {"step", "parameters": {NAME:
// {"norm", "mean", "std", "absmax", "update_ratio", "gradient_norm", ...}}}.
MadeRecorder openStatistics(const Recorded &of);
// RUN/ranks.jsonl, with several ranks: a line every few steps, {"step", "slow":
// SlowRank's text, "hosts": a string per rank, "seconds", "data_wait",
// "computes", "blocked": RankTime, a number per rank}; and a message when
// another rank is slow.
MadeRecorder openRankLines(const Recorded &of);
// RUN/tensorboard/events.out.tfevents.*: values of steps and validations.
MadeRecorder openEvents(const Recorded &of);
// The newest values in Prometheus' text format, once a second and at the end.
MadeRecorder openPrometheus(const Recorded &of);
// RUN/profile.json, RUN/trace.json and a table: the time of steps by command.
MadeRecorder openProfile(const Recorded &of);
// RUN/tuning.json: the selected algorithms, if there was a choice.
MadeRecorder openTuning(const Recorded &of);
// Messages for people: start, validations and end of a run, with advice if
// steps waited for samples; its progress, in one line that is rewritten on a
// terminal, else in periodic lines.
MadeRecorder openMessages(const Recorded &of);
MadeRecorder openBar(const Recorded &of);
// JSON messages: an object per period of time and per epoch.
MadeRecorder openJsonLog(const Recorded &of);
// Calls the callbacks of the embedding program.
MadeRecorder openHookCalls(const Recorded &of);

// Value of a step's metric; NaN if there is none of this name.
double metricOf(const StepEvent &event, std::string_view name);

// Warns once about a file that cannot be written.
class OneWarning {
public:
  void check(const Status &status);

private:
  bool said_ = false;
};

} // namespace dlc
