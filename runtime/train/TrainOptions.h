// SPDX-License-Identifier: Apache-2.0
// What a training run was asked to do; kept as config.yaml in its folder. Each
// field has a row (TrainOptions.cpp), of which flags and files are made.
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
  std::string resume;   // run folder to go on with; empty: a new run
  std::string run;      // folder of a new run; empty: runs/<model>-<N>
  std::optional<int64_t> checkpoint; // of this step, to resume; not kept
  std::string state; // run or checkpoint whose state a new run takes over

  std::string data;        // arrays x and y of the samples to train on
  std::string dataCommand; // a program that gives them, instead of `data`
  double dataTimeout = 60; // seconds that it may give nothing
  std::string val;         // samples to evaluate after each epoch; may be empty

  // Length of the run. 0 and 0: the steps that the schedule was compiled for,
  // or 10 epochs.
  int64_t steps = 0;
  int64_t epochs = 0;
  // The learning rate's schedule has this run's length, whatever it had; not
  // kept.
  bool reschedule = false;

  int64_t batch = 0; // rows of a micro-batch, one of the model's; 0: the most
  bool shuffle = true;
  uint64_t seed = 0;
  SampleOptions samples;
  int workers = 0; // threads that decode samples; 0: cores / ranks; not kept

  int64_t saveEvery = 0;  // steps between checkpoints; 0: at ends of epochs
  double saveSeconds = 0; // or seconds between them; 0: none
  int64_t keep = 3;       // checkpoints to keep
  // Or "sync": the step waits; "sharded": as "background", and each rank writes
  // its part. Not kept.
  std::string save = "background";
  bool savesParts() const { return save == "sharded"; }
  std::string afterSave; // a program for each checkpoint, see run/AfterSave.h
  int threads = 0;       // of each rank; 0: the machine's, divided by the ranks
  double timeout = 60;   // seconds that a rank may be silent
  // All-reduces add up each host's ranks, then the hosts (Rendezvous::byHosts).
  bool hierarchicalAllReduce = false;
  // Ranks that follow each other and share out what --zero does; 0: all; -1:
  // those of each host.
  int64_t zeroGroup = 0;
  bool quiet = false;
  bool logJson = false; // messages are JSON (Log.h); not kept
  bool noGraph = false; // on a GPU, launch commands one by one; not kept
  // Of a GPU's libraries; only tf32 is kept.
  TuneOptions tune{.mode = TuneOptions::Mode::Benchmark};
  bool profile = false; // times every command after the first step; not kept
  // Skipped steps in a row that end the run.
  int64_t maxSkips = 10;
  // How ranks that gathered statistics of their own (batch norms) agree on
  // them: "broadcast" or "mean", see Buffers.h.
  std::string bnBuffers = "broadcast";
  // Finds where a skipped step, or one whose loss is not finite, overflows; not
  // kept. Copies the state before every step.
  bool debugOverflow = false;
  // Steps between comparisons of all ranks' weights; 0: none.
  int64_t checkRanks = 0;
  int64_t logEvery = 0; // steps between lines of progress; 0: every 2 seconds

  // Steps between lines of RUN/stats.jsonl, of models compiled with --stats;
  // unset: 10; 0: none.
  std::optional<int64_t> statsEvery;
  bool tensorboard = false; // files of it in the run's folder
  std::string prometheus;   // file of the newest numbers; empty: none

  std::vector<std::string> metrics; // of validations, see metrics/Metrics.h
  std::string best; // the value whose best checkpoint is kept, see run/Best.h
  int64_t patience = 0; // validations without a better one; 0: never ends
  double minDelta = 0;  // what is better by no more does not end the waiting

  // Keys of options that were asked for ("run.keep"), also with their default
  // values: they win over a run's own when it is resumed; not kept.
  std::vector<std::string> given;
  // Keys that the run's config.yaml, of an older version, does not have; not
  // kept.
  std::vector<std::string> missing;
  // A new run may begin with other ranks than the model was compiled for, as
  // any goes on: there are as many as a launcher has at that time. Not kept.
  bool anyRanks = false;

  /// All options as rows "run.NAME", but `given`, `missing` and `anyRanks`.
  void addTo(OptionTable &table);
};

// Reads and writes config.yaml: the options that are kept, '-' in names as '_'.
// A key but data that is missing has its default; an unknown one is an error.
// Code::Corrupt names line and column.
std::string toYaml(const TrainOptions &options);
Result<TrainOptions> optionsFromYaml(const std::string &path);

// How the run that a model is of makes its samples; as by default for an
// artifact.
Result<SampleOptions> samplesOf(const Model &model);

// Code::Usage, naming the flag, for a given option that would make the resumed
// run another run.
Status checkResume(const TrainOptions &given, const OptionTable &table);

// The options to go on with the run `given.resume` with: the run's own, but for
// those in given.given and those that are not kept.
Result<TrainOptions> resumeOptions(const TrainOptions &given);

} // namespace dlc
