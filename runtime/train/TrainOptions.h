// SPDX-License-Identifier: Apache-2.0
// Options of a training run, stored as config.yaml in its folder. Each field
// has a row in TrainOptions.cpp, from which flags and files are derived.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/data/SampleOptions.h"
#include "runtime/device/Tuning.h"
#include "runtime/plan/Model.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dlc {

class OptionTable;

struct TrainOptions {
  std::string artifact; // path of model.dlc; unused when resuming
  std::string resume;   // run folder to resume; empty: a new run
  std::string run;      // folder of a new run; empty: runs/<model>-<N>
  std::optional<int64_t> checkpoint; // step to resume from; not stored
  std::string state; // run or checkpoint whose state a new run starts with

  std::string data;        // training samples, arrays x and y
  std::string dataCommand; // a program that outputs them, instead of `data`
  double dataTimeout = 60; // seconds without output until failure
  std::string val;         // samples evaluated after each epoch; may be empty

  // Length of the run. If both are 0: the steps that the schedule was compiled
  // for, or 10 epochs.
  int64_t steps = 0;
  int64_t epochs = 0;
  // Fits the learning rate schedule to this run's length; not stored.
  bool reschedule = false;

  int64_t batch = 0; // rows of a micro-batch, a model's size; 0: the largest
  bool shuffle = true;
  uint64_t seed = 0;
  SampleOptions samples;
  int workers = 0; // threads that decode samples; 0: cores / ranks; not stored

  int64_t saveEvery = 0;  // steps between checkpoints; 0: at ends of epochs
  double saveSeconds = 0; // or seconds between them; 0: none
  int64_t keep = 3;       // number of checkpoints
  // "background"; "sync": the step waits; "sharded": like "background", but
  // each rank writes a part. Not stored.
  std::string save = "background";
  bool savesParts() const { return save == "sharded"; }
  std::string afterSave; // command run for each checkpoint, see AfterSave
  int threads = 0;       // per rank; 0: cores divided by local ranks
  double timeout = 60;   // seconds without a message from a rank until failure
  // All-reduces first within hosts, then between hosts (Rendezvous::byHosts).
  bool hierarchicalAllReduce = false;
  // Number of consecutive ranks that shard what --zero shards; 0: all; -1:
  // those of each host.
  int64_t zeroGroup = 0;
  bool quiet = false;
  bool logJson = false; // messages are JSON (Log.h); not stored
  bool noGraph = false; // on a GPU, launch commands individually; not stored
  // Tuning of GPU libraries; only tf32 is stored.
  TuneOptions tune{.mode = TuneOptions::Mode::Benchmark};
  bool profile = false; // times every command after the first step; not stored
  // Number of consecutive skipped steps that ends the run.
  int64_t maxSkips = 10;
  // How ranks synchronise statistics of their own samples (batch norms):
  // "broadcast" or "mean", see EqualRanks.h.
  std::string bnBuffers = "broadcast";
  // Locates the overflow of a skipped step or of a loss that is not finite.
  // Copies the state before every step. Not stored.
  bool debugOverflow = false;
  // Steps between comparisons of all ranks' weights; 0: never.
  int64_t checkRanks = 0;
  int64_t logEvery = 0; // steps between progress lines; 0: every 2 seconds

  // Steps between lines of RUN/stats.jsonl for models compiled with --stats;
  // unset: 10; 0: never.
  std::optional<int64_t> statsEvery;
  bool tensorboard = false; // writes event files into the run's folder
  std::string prometheus;   // file for the newest metrics; empty: none

  std::vector<std::string> metrics; // of validations, see metrics/Metrics.h
  std::string best; // value that selects the best checkpoint, see run/Best.h
  int64_t patience = 0; // validations without a better one; 0: no limit
  double minDelta = 0;  // smaller improvements do not reset the patience

  // Keys of options that were set explicitly ("run.keep"), even to their
  // default: on resumption they override the run's own. Not stored.
  std::vector<std::string> given;
  // Keys that the run's config.yaml lacks, as an older version wrote it; not
  // stored.
  std::vector<std::string> missing;
  // A new run may start with another number of ranks than the model was
  // compiled for, like a resumed one, as the launcher may have fewer at that
  // time. Not stored.
  bool anyRanks = false;

  /// Adds rows "run.NAME" of all but `given`, `missing` and `anyRanks`.
  void addTo(OptionTable &table);
};

// Writes and reads config.yaml: the stored options, with '_' for '-' in names.
// Missing keys other than data get their defaults; unknown keys are errors.
// Code::Corrupt with line and column.
std::string toYaml(const TrainOptions &options);
Result<TrainOptions> optionsFromYaml(const std::string &path);

// Sample options of the run that the model belongs to; the defaults for an
// artifact.
Result<SampleOptions> samplesOf(const Model &model);

// Code::Usage, naming the flag, for an explicit option that would change the
// resumed run into another run.
Status checkResume(const TrainOptions &given, const OptionTable &table);

// Options for resuming `given.resume`: the run's own, except those in
// given.given and those that are not stored.
Result<TrainOptions> resumeOptions(const TrainOptions &given);

} // namespace dlc
