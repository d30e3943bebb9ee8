// SPDX-License-Identifier: Apache-2.0
// What a run trains, on what and how long: settled before its first step.
#pragma once

#include "runtime/base/process/Log.h"
#include "runtime/train/Hooks.h"
#include "runtime/train/TrainOptions.h"
#include "runtime/train/metrics/Judge.h"
#include "runtime/train/run/Checkpoints.h"
#include "runtime/train/session/Inputs.h"

#include <optional>
#include <set>

namespace dlc {

// One rank's part; the same setup on all ranks. Heavy: made once a run.
struct RunSetup {
  // With paths that are absolute. Code::Usage for options that contradict each
  // other.
  static Result<std::unique_ptr<RunSetup>> make(const TrainOptions &options,
                                                const TrainHooks &hooks,
                                                Communicator &ranks);
  // Reads model and data, binds the step. An error is the same on all ranks.
  Status prepare();

  // The run begins, or these ranks begin to share its samples, at this place.
  void beginAt(Progress &progress);
  // A schedule that was compiled without a length lasts as long as the run that
  // was begun; with options.reschedule as long as this one.
  Status settleSchedule(const Progress &progress);
  // What ranks gathered of their own becomes equal, before it is read or saved.
  Status settleBuffers();

  // The batches of an update, as the loader makes them, and which of the
  // model's sizes they have.
  struct Window {
    std::vector<Batch> batches;
    int size = 0;
  };
  Result<Window> windowOf(int64_t step) const;
  // Whether the test hook makes a gradient of this rank infinite in a step.
  bool injects(int64_t step) const;
  // NaN if the program does not report it.
  double metric(std::span<const double> values, std::string_view name) const;
  bool reports(std::string_view metric) const;
  // Whether the data's end is not known.
  bool isEndless() const { return data.samples() == kEndlessSamples; }
  // Whether validations have been without a better one for long enough.
  bool isPatienceOver(const Best &best) const {
    return options.patience > 0 && best.waited >= options.patience;
  }

  bool isRoot() const { return ranks.rank() == 0; }
  // Messages that all ranks have: rank 0 prints them.
  template <class... Parts>
  void warnOnce(fmt::format_string<Parts...> format, Parts &&...parts) const {
    if (isRoot())
      warning("{}", fmt::format(format, std::forward<Parts>(parts)...));
  }
  template <class... Parts>
  void tellOnce(fmt::format_string<Parts...> format, Parts &&...parts) const {
    if (isRoot())
      info("{}", fmt::format(format, std::forward<Parts>(parts)...));
  }

  TrainOptions options;
  TrainHooks hooks;
  Communicator &ranks;
  Judge::Sources sources; // of data
  SizedData data, val;    // val: none without validation
  Sampling sampling;
  std::string dataHash;
  std::unique_ptr<Session> session;
  std::optional<Model> from;    // on rank 0 of a new run: of options.state
  std::optional<Judge> judge;   // of val, if metrics are asked for
  std::optional<BestBy> bestBy; // what decides which checkpoint is the best
  int64_t total = 0;            // steps of the run
  // Steps of an epoch with as many ranks as the model was compiled for: in what
  // lengths of runs and schedules count.
  int64_t stepsPerEpoch = 0;
  int64_t group = 0; // consecutive ranks that share out states; 0: all
  std::set<int64_t> infiniteSteps; // see base/options/Environment.h

private:
  RunSetup(const TrainOptions &options, const TrainHooks &hooks,
           Communicator &ranks)
      : options(options), hooks(hooks), ranks(ranks) {}
  Status findGroup();
  Status loadData();
  Status checkNumberOfRanks(const plan::Plan &plan) const;
  Status settleSampling(const plan::Plan &plan);
  Status checkSizes(const plan::Plan &plan) const;
  Status checkPaddedLabels(const Artifact &artifact) const;
  Status openValidation(const Judge::Sources &sources);
  Result<std::vector<std::string>> metricsToJudge();
  Status bindStep();
  Status bindPrograms();
  Status settleLength();
  Status checkSameSetup();
  Result<int64_t> setUnlessSet(const char *state, int64_t value);
  Status settleStepsOfSchedule(const Progress &progress);
  Status findState();
};

// Of options.data, or of what a program gives.
std::string nameOfData(const RunSetup &setup);
// "64 samples", "4 micro-batches of 16"; "2 ranks"
std::string batchText(const Sampling &sampling);
std::string ranksText(const Sampling &sampling);

} // namespace dlc
