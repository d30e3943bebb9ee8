// SPDX-License-Identifier: Apache-2.0
// Model, data and length of a run, determined before its first step.
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

// One rank's part of a setup common to all ranks. Created once: expensive.
struct RunSetup {
  // `options` with absolute paths. Code::Usage for contradicting options.
  static Result<std::unique_ptr<RunSetup>> make(const TrainOptions &options,
                                                const TrainHooks &hooks,
                                                Communicator &ranks);
  // Reads model and data, and binds the step. Errors are the same on all ranks.
  Status prepare();

  // Sets the position in the samples from which these ranks continue.
  void beginAt(Progress &progress);
  // Gives a schedule that was compiled without a length the length of the
  // original run, or of this one with options.reschedule.
  Status settleSchedule(const Progress &progress);
  // Synchronises ranks' statistics, before they are read or saved.
  Status settleBuffers();

  // The batches of an update, as the loader makes them, and their model's size.
  struct Window {
    std::vector<Batch> batches;
    int size = 0;
  };
  Result<Window> windowOf(int64_t step) const;
  // Whether the test hook (DLC_INJECT_INF) makes a gradient of this rank
  // infinite in this step.
  bool injects(int64_t step) const;
  // The value of this metric; NaN if the program does not report it.
  double metric(std::span<const double> values, std::string_view name) const;
  bool reports(std::string_view metric) const;
  // Whether the number of samples is unknown.
  bool isEndless() const { return data.samples() == kEndlessSamples; }
  // Whether as many validations as the patience brought no improvement.
  bool isPatienceOver(const Best &best) const {
    return options.patience > 0 && best.waited >= options.patience;
  }

  bool isRoot() const { return ranks.rank() == 0; }
  // For messages that are the same on all ranks: only rank 0 prints them.
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
  Judge::Sources sources; // for data
  SizedData data, val;    // val: empty without validation
  Sampling sampling;
  std::string dataHash;
  std::unique_ptr<Session> session;
  std::optional<Model> from;    // options.state, on rank 0 of a new run
  std::optional<Judge> judge;   // for val, if there are metrics
  std::optional<BestBy> bestBy; // criterion of the best checkpoint
  int64_t total = 0;            // steps of the run
  // Steps of an epoch with the number of ranks that the model was compiled for:
  // the unit of run lengths and schedules.
  int64_t stepsPerEpoch = 0;
  int64_t group = 0; // consecutive ranks that split states; 0: all
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

// Name of options.data or of the program that makes the samples.
std::string nameOfData(const RunSetup &setup);
// "64 samples", "4 micro-batches of 16"; "2 ranks"
std::string batchText(const Sampling &sampling);
std::string ranksText(const Sampling &sampling);

} // namespace dlc
