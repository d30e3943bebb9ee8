// SPDX-License-Identifier: Apache-2.0
// Evaluates metrics of a model on a data set.
#pragma once

#include "runtime/train/metrics/Metrics.h"
#include "runtime/train/session/Session.h"

namespace dlc {

struct Judgement {
  std::vector<std::pair<std::string, double>> values; // in the requested order
  ClassTable classes;
  std::vector<std::vector<int64_t>> confusion; // [label][output]
  bool isBinned = false; // areas under curves are approximate: too many scores
};

// Evaluates a session with `predict` in a second pass over the samples.
// Expensive to create. Not thread-safe. With ranks, all make the same calls;
// each evaluates a part, all get the result, and every sample is used once.
class Judge {
public:
  // Code::Usage, with the alternatives, for a metric that does not fit the
  // model, and for samples of several lengths. Sources as in openDatasets.
  using Sources = std::vector<std::shared_ptr<const Source>>;
  static Result<Judge> create(Session &session,
                              const std::vector<std::string> &metrics,
                              const Sources &sources,
                              const SampleOptions &options);

  Result<Judgement> judge();

  const std::vector<Metric> &metrics() const { return metrics_; }

private:
  Judge(Session &session, Scores scores, std::vector<Metric> metrics,
        Dataset inputs, Dataset labels)
      : session_(&session), scores_(std::move(scores)),
        metrics_(std::move(metrics)), inputs_(std::move(inputs)),
        labels_(std::move(labels)) {}
  Status addBatch(Tally &tally, int64_t batch, int64_t first, int64_t count,
                  const TensorView &view);
  Status addSample(Tally &tally, int64_t batch, int64_t sample,
                   std::span<const float> out);
  const Column &column() const { return labels_.columns()[column_]; }

  Session *session_;
  Scores scores_;
  std::vector<Metric> metrics_;
  Needs needs_;
  Dataset inputs_, labels_; // bound to predict and eval_step
  size_t column_ = 0;       // of labels_
  std::vector<std::byte> raw_;
  std::vector<double> first_, numbers_;
  std::vector<int64_t> classes_;
};

// Non-scalar results for a file: {"classes": {"precision": [...], ...},
// "confusion": [[...], ...]}; empty if there are none.
std::string classesJson(const Judgement &judgement, int64_t epoch,
                        int64_t step);

} // namespace dlc
