// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/metrics/Ranking.h"

#include "runtime/base/Text.h"
#include "runtime/base/process/Boundary.h"
#include "runtime/train/session/Inputs.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace dlc {

Result<Ranking> Ranking::create(Session &session, int size,
                                std::string_view asks) {
  DLC_ASSIGN(Scores scores, readScores(session.model().artifact, size, asks));
  if (scores.task == Task::Values)
    return usageError("{}: output '{}' has values, not scores of classes: "
                      "-o writes them",
                      asks, printable(scores.output));
  if (scores.rows() != 1)
    return usageError("{}: output '{}' has scores for each of {} rows of a "
                      "sample (pixels, tokens), expected one row: -o writes "
                      "them",
                      asks, printable(scores.output), scores.rows());
  return Ranking(session, std::move(scores));
}

std::string_view Ranking::function() const {
  if (scores_.probabilities)
    return "";
  return scores_.task == Task::Classes ? "softmax" : "sigmoid";
}

std::vector<double>
Ranking::probabilities(std::span<const float> scores) const {
  std::vector<double> result(scores.begin(), scores.end());
  if (function() == "sigmoid") {
    for (double &x : result)
      x = 1 / (1 + std::exp(-x));
  } else if (function() == "softmax") {
    const double most = *std::ranges::max_element(result);
    double sum = 0;
    for (double &x : result)
      sum += x = std::exp(x - most);
    for (double &x : result)
      x /= sum;
  }
  if (binary())
    result = {1 - result[0], result[0]};
  return result;
}

Result<std::vector<RankedClass>> Ranking::rank(std::span<const float> scores,
                                               int64_t top) const {
  const std::vector<double> all = probabilities(scores);
  for (const double x : all)
    if (!std::isfinite(x))
      return failed("output '{}' has scores that are not finite",
                    printable(scores_.output));
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), size_t(0));
  const auto end = order.begin() + std::min(top, classes());
  std::partial_sort(order.begin(), end, order.end(), [&](size_t a, size_t b) {
    return all[a] != all[b] ? all[a] > all[b] : a < b;
  });
  std::vector<RankedClass> ranks;
  for (auto at = order.begin(); at != end; ++at)
    ranks.push_back({int64_t(*at), all[*at]});
  return ranks;
}

Status Ranking::run(const Dataset &dataset, int64_t top,
                    const TakeRanks &take) const try {
  const auto width = size_t(scores_.classes);
  int64_t sample = 0;
  const auto rankBatch = [&](int64_t count, const BatchSweep::Part &,
                             std::span<const TensorView> outputs) -> Status {
    std::vector<std::byte> room;
    const float *numbers =
        floatsOf(outputs[size_t(scores_.port)], width * size_t(count), room);
    for (int64_t i = 0; i < count; ++i, ++sample) {
      DLC_ASSIGN(const auto ranks,
                 rank({numbers + size_t(i) * width, width}, top));
      DLC_TRY(take(sample, ranks));
    }
    return {};
  };
  return BatchSweep(session_->executor(),
                    session_->partsFor("predict", dataset), dataset)
      .run(0, 1, rankBatch);
} catch (...) {
  return caughtException("prediction");
}

} // namespace dlc
