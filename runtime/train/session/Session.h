// SPDX-License-Identifier: Apache-2.0
// A model that is loaded and ready to train, evaluate or predict.
#pragma once

#include "runtime/data/Loader.h"
#include "runtime/exec/Executor.h"
#include "runtime/plan/Model.h"
#include "runtime/train/session/BatchSweep.h"
#include "runtime/train/session/Inputs.h"
#include "runtime/train/session/RowSums.h"
#include "runtime/train/session/State.h"
#include "runtime/train/session/Statistics.h"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dlc {

// Means over all samples; a sample may have several rows (tokens). Rows whose
// weight is 0, as those of labels that are ignored, do not count.
struct EvalResult {
  double loss = 0;                // where rows have weights, by them
  std::optional<double> accuracy; // share of rows whose label was hit
  int64_t samples = 0;
};

// One thread uses a session at a time.
class Session {
public:
  struct Options {
    int threads = 0;  // 0: all that the process may run on
    int averages = 0; // use that set of averages; 0: the last weights
    // Must outlive the session. Null: one rank; it cannot train a model that
    // was compiled for several, but evaluate it.
    Communicator *communicator = nullptr;
    bool record = true; // see ExecutorOptions, as what follows
    std::chrono::milliseconds timeout{60'000};
    TuneOptions tune = {};
    int group = 0;
  };

  // An artifact, a run (its newest checkpoint) or a checkpoint, by path.
  static Result<std::unique_ptr<Session>> open(const std::string &path,
                                               const Options &options);
  // The same for a model that is open already.
  static Result<std::unique_ptr<Session>> create(Model model,
                                                 const Options &options);

  const Model &model() const { return model_; }
  const plan::Plan &plan() const { return model_.artifact.plan(); }
  Executor &executor() { return *executor_; }

  // The scalars that a training step reports: "loss", "lr", ...
  const std::vector<std::string> &metricNames() const { return metricNames_; }

  // Of each parameter, as of the update whose metrics were read last; none of a
  // model that was compiled without --stats.
  const StatisticsReader &statistics() const { return statistics_; }

  // Batches of an update.
  int64_t window() const { return std::max<int64_t>(1, plan().accumulate()); }

  // Steps of each rank before syncRanks() is due; 0: ranks are never apart.
  int64_t syncEvery() const { return syncEvery_; }
  // All ranks: moves their parameters by the mean of what each has done since
  // the last time (--sync-every). Ranks have equal parameters then.
  Status syncRanks();

  // What the next micro-batch runs, the last one of a window or another.
  Result<const plan::Program *> nextStep(int size, bool isLast);

  // Starts the training on a batch, whose arrays are those of train_step's
  // inputs in order. Of several sizes it is the one that takes so many bytes;
  // where two of the model's do (8 x 256 and 16 x 128), `size` must say which
  // (findSize, Inputs.h). All batches of a window are of one size. True if it
  // is the last of a window: it updates the weights and has metrics. A device
  // with queues does it later, and the next may be started meanwhile: see
  // Executor::runsAhead.
  Result<bool> startStep(const Batch &batch, Probe *probe = nullptr,
                         std::optional<int> size = {});
  // The same of arrays that lie elsewhere: they are read where they are, and
  // may go once it returns.
  Result<bool> startStep(BatchView batch, Probe *probe = nullptr,
                         std::optional<int> size = {});
  // The metrics of the oldest update whose were not read yet, by metricNames();
  // waits for it. Valid until the next call. After the first update nothing is
  // allocated here.
  Result<std::span<const double>> readMetrics();
  // Both: waits for the metrics if there are some.
  Result<std::span<const double>> trainStep(const Batch &batch,
                                            Probe *probe = nullptr,
                                            std::optional<int> size = {});
  Result<std::span<const double>> trainStep(BatchView batch,
                                            Probe *probe = nullptr,
                                            std::optional<int> size = {});

  // Asked after each batch of an evaluation or a prediction: false ends it with
  // an error. Empty: nobody is asked.
  void setGoesOn(std::function<bool()> goesOn) { goesOn_ = std::move(goesOn); }
  Status checkGoesOn() const;

  // All samples, by the programs of the sizes that they fit: those of the
  // largest batch; the last samples by the smallest that holds them. That is
  // filled up, and what fills it not counted. With ranks, all must call it:
  // each does a part, all get the result.
  Result<EvalResult> evaluate(const Dataset &dataset) {
    return evaluate(std::span(&dataset, 1));
  }
  // Of several, the means over the samples of all. Code::Failed if there is no
  // row that counts.
  Result<EvalResult> evaluate(std::span<const Dataset> sets);

  struct Output {
    std::string name;
    DType dtype;
    std::vector<int64_t> shape; // of all samples
    std::vector<std::byte> bytes;
  };
  // The outputs of predict for all samples, in order.
  Result<std::vector<Output>> predict(const Dataset &dataset);

  // The programs of a kind for a data set, the largest batch first.
  std::vector<BatchSweep::Part> partsFor(std::string_view kind,
                                         const Dataset &dataset) const;
  // Null: one rank.
  Communicator *communicator() const { return communicator_; }

  // Another state of the same artifact: a file, or a folder of parts.
  Status load(const std::string &path);
  Result<FileDigest> save(const std::string &safetensors,
                          const Share &share = {});

private:
  Session(Model model, Communicator *communicator)
      : model_(std::move(model)), communicator_(communicator) {}

  Result<std::vector<Ratio>> sumUp(const Dataset &dataset,
                                   std::span<const RowPorts> ports);
  Status findPosition();
  Result<int> sizeOf(BatchView batch) const;
  Status checkWindow(int size);

  Model model_;
  Communicator *communicator_;
  std::unique_ptr<Executor> executor_;
  std::vector<std::string> metricNames_;
  std::vector<size_t> metricAt_; // of the program's outputs
  std::vector<double> metrics_;
  StatisticsReader statistics_;
  std::function<bool()> goesOn_;
  std::vector<std::span<const std::byte>> views_; // of a batch
  int64_t syncEvery_ = 0;
  int64_t position_ = 0;      // in the window, as the device has it, too,
  uint64_t positionAsOf_ = 0; // unless the host has written state since
  int windowSize_ = -1; // of what the window has begun with; below 0: none
  // Programs of the updates whose metrics were not read, by their number.
  std::array<const plan::Program *, 16> programs_{};
  uint64_t started_ = 0, read_ = 0;
};

} // namespace dlc
