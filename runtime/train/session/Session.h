// SPDX-License-Identifier: Apache-2.0
// A loaded model that can train, evaluate and predict.
#pragma once

#include "runtime/data/Loader.h"
#include "runtime/exec/Executor.h"
#include "runtime/plan/Model.h"
#include "runtime/train/session/BatchSweep.h"
#include "runtime/train/session/Inputs.h"
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

// Means over all samples, which may have several rows (tokens) each. Rows of
// weight 0, such as those with ignored labels, are excluded.
struct EvalResult {
  double loss = 0;                // weighted if rows have weights
  std::optional<double> accuracy; // share of rows with a correct prediction
  int64_t samples = 0;
};

// Not thread-safe.
class Session {
public:
  struct Options {
    int threads = 0;  // 0: all that the process may run on
    int averages = 0; // the set of averages to use; 0: the last weights
    // Must outlive the session. Null: one rank, which can evaluate but not
    // train a model that was compiled for several.
    Communicator *communicator = nullptr;
    bool record = true; // see ExecutorOptions, also for the following members
    std::chrono::milliseconds timeout{60'000};
    TuneOptions tune = {};
    int group = 0;
  };

  // Opens an artifact, a run (its newest checkpoint) or a checkpoint.
  static Result<std::unique_ptr<Session>> open(const std::string &path,
                                               const Options &options);
  // The same for a model that is already open.
  static Result<std::unique_ptr<Session>> create(Model model,
                                                 const Options &options);

  const Model &model() const { return model_; }
  const plan::Plan &plan() const { return model_.artifact.plan(); }
  Executor &executor() { return *executor_; }

  // Names of the scalars that a training step reports: "loss", "lr", ...
  const std::vector<std::string> &metricNames() const { return metricNames_; }

  // Statistics of each parameter at the update whose metrics were read last;
  // empty for a model compiled without --stats.
  const StatisticsReader &statistics() const { return statistics_; }

  // Number of batches of an update.
  int64_t window() const { return std::max<int64_t>(1, plan().accumulate()); }

  // Number of steps between calls of syncRanks(); 0: ranks never diverge.
  int64_t syncEvery() const { return syncEvery_; }
  // Collective (--sync-every): adds to the common parameters the mean of all
  // ranks' changes since the last call, so that ranks are equal.
  Status syncRanks();

  // The program of the next micro-batch. `isLast`: it ends its window.
  Result<const plan::Program *> nextStep(int size, bool isLast);

  // Starts training on a batch, with arrays in order of train_step's inputs.
  // The model's size is found by the number of bytes; if that is ambiguous (8 x
  // 256 and 16 x 128), `size` is required (findSize, Inputs.h). All batches of
  // a window have the same size. True for the last batch of a window, which
  // updates the weights and has metrics. On a device with queues it runs
  // asynchronously, and the next one may be started meanwhile: see
  // Executor::runsAhead.
  Result<bool> startStep(const Batch &batch, Probe *probe = nullptr,
                         std::optional<int> size = {});
  // The same for arrays of the caller, which may be freed after the call.
  Result<bool> startStep(BatchView batch, Probe *probe = nullptr,
                         std::optional<int> size = {});
  // Blocks until the oldest update whose metrics are unread has finished;
  // returns the metrics in order of metricNames(). Valid until the next call.
  // Does not allocate after the first update.
  Result<std::span<const double>> readMetrics();
  // startStep(), and readMetrics() if this batch ends its window.
  Result<std::span<const double>> trainStep(const Batch &batch,
                                            Probe *probe = nullptr,
                                            std::optional<int> size = {});
  Result<std::span<const double>> trainStep(BatchView batch,
                                            Probe *probe = nullptr,
                                            std::optional<int> size = {});

  // `goesOn` is called after each batch of an evaluation or prediction, which
  // ends with an error if it returns false. May be empty.
  void setGoesOn(std::function<bool()> goesOn) { goesOn_ = std::move(goesOn); }
  Status checkGoesOn() const;

  // Evaluates all samples with the programs of their sizes: those of the
  // largest batch; the last samples with the smallest batch that fits them,
  // padded with samples that are excluded. Collective: each rank does a part,
  // all get the result.
  Result<EvalResult> evaluate(const Dataset &dataset) {
    return evaluate(std::span(&dataset, 1));
  }
  // Means over several data sets. Code::Failed if all rows are excluded.
  Result<EvalResult> evaluate(std::span<const Dataset> sets);

  struct Output {
    std::string name;
    DType dtype;
    std::vector<int64_t> shape; // with all samples
    std::vector<std::byte> bytes;
  };
  // Outputs of predict for all samples, in order.
  Result<std::vector<Output>> predict(const Dataset &dataset);

  // Programs of a kind for a data set, the largest batch first.
  std::vector<BatchSweep::Part> partsFor(std::string_view kind,
                                         const Dataset &dataset) const;
  // Null: one rank.
  Communicator *communicator() const { return communicator_; }

  // Loads another state of the same artifact: a file, or a folder of parts.
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
  std::vector<size_t> metricAt_; // outputs of the program
  std::vector<double> metrics_;
  StatisticsReader statistics_;
  std::function<bool()> goesOn_;
  std::vector<std::span<const std::byte>> views_; // of a batch
  int64_t syncEvery_ = 0;
  int64_t position_ = 0;      // in the window, as on the device,
  uint64_t positionAsOf_ = 0; // unless the host has written state since
  int windowSize_ = -1;       // of the current window's batches; below 0: none
  // Programs of the updates whose metrics were not read, by their number.
  std::array<const plan::Program *, 16> programs_{};
  uint64_t started_ = 0, read_ = 0;
};

} // namespace dlc
