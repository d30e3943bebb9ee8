// SPDX-License-Identifier: Apache-2.0
// What a run trains, on what, and how far it is.
#pragma once

#include "runtime/train/Hooks.h"
#include "runtime/train/metrics/Judge.h"
#include "runtime/train/run/Checkpoints.h"
#include "runtime/train/run/Run.h"
#include "runtime/train/session/Inputs.h"

#include <optional>
#include <set>

namespace dlc {

// One rank's part; the same job on all ranks. Heavy: made once a run.
struct Job {
  // Reads model and data, binds the step, makes the run folder or finds the
  // newest checkpoint. An error is the same on all ranks.
  static Result<std::unique_ptr<Job>> open(const TrainOptions &options,
                                           const TrainHooks &hooks,
                                           Communicator &communicator);

  // The same without a run folder: the model's first state, of which nothing
  // can be saved. A schedule stays where it begins.
  static Result<std::unique_ptr<Job>> openApart(const TrainOptions &options,
                                                Communicator &communicator);

  // Goes to the newest checkpoint, on all ranks.
  Status restore();
  // Writes a checkpoint, on all ranks. If that fails, on a full disk perhaps,
  // the training goes on and the next one is tried when it is due; not if this
  // is the `last`, or the run's folder is gone. Unless it is written `now`, or
  // options.save says so, steps go on meanwhile: what became of it is known at
  // the next one, and of settleSave().
  Status save(bool last, bool now);
  // On rank 0: RUN/tuning.json, the algorithms that were chosen, if there was a
  // choice. One file less is no error.
  void writeTuning() const;
  // On rank 0: warns if what was written meanwhile failed.
  Status settleSave(bool wait);
  // What ranks gathered of their own becomes equal, before it is read or saved.
  Status settleBuffers();

  bool isRoot() const { return communicator.rank() == 0; }
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
  bool isPatienceOver() const {
    return options.patience > 0 && progress.best.waited >= options.patience;
  }

  TrainOptions options;
  TrainHooks hooks;
  Communicator &communicator;
  Judge::Sources sources; // of data
  SizedData data, val;    // val: none without validation
  Sampling sampling;
  std::string dataHash;
  std::unique_ptr<Session> session;
  std::optional<Judge> judge;   // of val, if metrics are asked for
  std::optional<BestBy> bestBy; // what decides which checkpoint is the best
  std::string run;              // its folder
  std::optional<RunLock> lock;  // of it, and what is in it: rank 0's
  std::optional<Checkpoints> checkpoints; // rank 0's; in parts each has one
  int64_t savedStep = -1; // of the last of them that this process wrote
  Progress progress;      // of what was started: the device may be behind
  int64_t total = 0;      // steps of the run
  // Steps of an epoch with as many ranks as the model was compiled for: in what
  // lengths of runs and schedules count.
  int64_t stepsPerEpoch = 0;
  // DLC_INJECT_INF=3,4,11: a gradient of rank 0 becomes infinite at these
  // steps, the first one being 1.
  std::set<int64_t> infiniteSteps;

private:
  Job(const TrainOptions &options, const TrainHooks &hooks,
      Communicator &communicator)
      : options(options), hooks(hooks), communicator(communicator) {}
  static Result<std::unique_ptr<Job>> make(const TrainOptions &options,
                                           const TrainHooks &hooks,
                                           Communicator &communicator);
  Status prepareSteps();
  Status loadData();
  Status settleSampling(const plan::Plan &plan);
  Status checkPaddedLabels(const Artifact &artifact) const;
  Status openValidation(const Judge::Sources &sources);
  Status settleBest();
  Status bindStep();
  Status settleLength();
  Status checkSameJob();
  Status lockRun();
  Status openRun();
  Status shareFolder();
  Status openParts();
  void prepareSaves();
  void waitForSaves(const Status &noRoom);
  Status saveRoot(bool last, bool now);
  Status saveParts(bool last, bool now);
  Result<bool> copyForParts();
  Status settleRoot();
  // Whether each rank writes its part of checkpoints.
  bool inParts() const {
    return options.save == "sharded" && communicator.size() > 1;
  }
  bool inBackground() const { return options.save != "sync" && hasRoom_; }
  Status settleSave(int64_t step, const Status &saved, bool last);
  Status restoreRoot();
  Status checkNumberOfRanks(const plan::Plan &plan) const;
  Status checkSameData() const;
  std::string nameOfData() const;
  void tellOfOtherRanks() const;
  void tellOfReductions() const;
  Status sharePlace();
  Status settleSchedule();
  Status settleStepsOfSchedule();
  Result<int64_t> setUnlessSet(const char *state, int64_t value);

  bool hasRoom_ = true; // for copies of the state
};

// "64 samples", "4 micro-batches of 16"; "2 ranks"
std::string batchText(const Sampling &sampling);
std::string ranksText(const Sampling &sampling);

} // namespace dlc
