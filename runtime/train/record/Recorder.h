// SPDX-License-Identifier: Apache-2.0
// Who listens to a run: a file each, and its row in Recorders.cpp.
#pragma once

#include "runtime/train/Hooks.h"
#include "runtime/train/RankTimes.h"
#include "runtime/train/Validation.h"

#include <memory>
#include <vector>

namespace dlc {

struct StatisticsEvent {
  int64_t step = 0;
  std::span<const std::string> names; // of parameters
  std::span<const ParameterStatistics> values;
};

struct SavedEvent {
  const Progress &progress;
  bool asked = false;   // by a signal
  bool isKnown = false; // that it is written: it is not done meanwhile
};

struct EndEvent {
  double shareWaited = 0; // of the time since the first step, for samples
};

// Of rank 0, called by the thread that runs the trainer. A file that cannot be
// written never ends a run: a warning says so once.
class Recorder {
public:
  virtual ~Recorder() = default;
  virtual void onStart(const Progress &) {} // before the first step
  virtual void onStep(const StepEvent &) {}
  virtual void onStatistics(const StatisticsEvent &) {} // after onStep
  virtual void onRanks(const RanksEvent &) {} // after onStep of some steps
  // In place of onStep: known only after an error, which ends the run.
  virtual void onStepBeforeError(const StepEvent &) {}
  // About once a second, while the run's folder is known to be there.
  virtual void onSecond() {}
  virtual void onPause() {} // something else is to be printed
  virtual void onValidating(double /*share*/) {} // of it is done
  virtual void onValidation(const ValidationEvent &) {}
  virtual void onEpoch(const EpochEvent &) {} // after its validation
  virtual void onSaved(const SavedEvent &) {} // the checkpoint has its name
  virtual void onEnd(const EndEvent &) {}     // unless by an error
  // Asked once a step: whether the run is to end after it.
  virtual bool wantsEnd() { return false; }
};

// What a recorder is made for. What its files say of steps behind
// `progress.step`, from which the run continues, is to be removed.
struct Recorded {
  const RunSetup &setup;
  const std::string &run; // its folder
  const Progress &progress;
};
// Null: the run does not want it.
using MadeRecorder = Result<std::unique_ptr<Recorder>>;

// RUN/metrics.jsonl: a line a step; RUN/epochs.jsonl: a line a validation.
MadeRecorder openRunLines(const Recorded &of);
// RUN/classes.json: the last validation by class.
MadeRecorder openClasses(const Recorded &of);
// RUN/results.csv: a row an epoch or validation.
MadeRecorder openCsv(const Recorded &of);
// RUN/stats.jsonl: a line at each of some steps, {"step", "parameters": {NAME:
// {"norm", "mean", "std", "absmax", "update_ratio", "gradient_norm", ...}}}.
MadeRecorder openStatistics(const Recorded &of);
// RUN/ranks.jsonl, of several ranks: a line at some steps, {"step", "slow":
// SlowRank's text, "hosts": a string a rank, "seconds", "data_wait",
// "computes", "blocked": RankTime, a number a rank}; and a message when another
// rank is slow.
MadeRecorder openRankLines(const Recorded &of);
// RUN/tensorboard/events.out.tfevents.*: what a step and a validation report.
MadeRecorder openEvents(const Recorded &of);
// The newest numbers as Prometheus' text, once a second and at the end.
MadeRecorder openPrometheus(const Recorded &of);
// RUN/profile.json, RUN/trace.json and a table: where the time of steps goes.
MadeRecorder openProfile(const Recorded &of);
// RUN/tuning.json: the algorithms that were chosen, if there was a choice.
MadeRecorder openTuning(const Recorded &of);
// For people: how a run begins, validates and ends; where it is, one line that
// is rewritten on a terminal, a line every now and then elsewhere; that steps
// wait for samples, and what would help.
MadeRecorder openMessages(const Recorded &of);
MadeRecorder openBar(const Recorded &of);
MadeRecorder openDataWait(const Recorded &of);
// Where messages are JSON: an object every now and then, and an epoch.
MadeRecorder openJsonLog(const Recorded &of);
// The callbacks of the program that trains.
MadeRecorder openHookCalls(const Recorded &of);

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
