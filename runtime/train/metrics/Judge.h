// SPDX-License-Identifier: Apache-2.0
// The metrics of a model on a data set.
#pragma once

#include "runtime/train/metrics/Metrics.h"
#include "runtime/train/session/Session.h"

#include <optional>

namespace dlc {

struct Judgement {
  std::vector<std::pair<std::string, double>> values; // as they were asked for
  ClassTable classes;
  std::vector<std::vector<int64_t>> confusion; // by label, then by output
  bool isBinned = false; // areas under curves: there were too many scores
};

// Of one session, by `predict`: a second pass over the samples. Heavy: made
// once. One thread; with ranks all make the same calls, each judges a part, all
// get the result, every sample once.
class Judge {
public:
  // Code::Usage, naming those that would do, for a metric that does not fit the
  // model, and for samples of several lengths; the sources as openDatasets
  // takes them.
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
  Dataset inputs_, labels_; // as predict and as eval_step take them
  size_t column_ = 0;       // of labels_
  std::vector<std::byte> raw_;
  std::vector<double> first_, numbers_;
  std::vector<int64_t> classes_;
};

// What is no number of its own, for a file; empty if there is none of it.
// {"classes": {"precision": [...], ...}, "confusion": [[...], ...]}
std::string classesJson(const Judgement &judgement, int64_t epoch,
                        int64_t step);

} // namespace dlc
