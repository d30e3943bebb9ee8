// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/metrics/Tally.h"

#include <algorithm>
#include <cmath>

namespace dlc {
namespace {

constexpr int64_t kMostSums = int64_t(1) << 24; // 128 MiB

double sigmoid(double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

double softmaxOf(std::span<double> row) {
  const double most = *std::ranges::max_element(row);
  double sum = 0;
  for (double &x : row)
    sum += x = std::exp(x - most);
  for (double &x : row)
    x /= sum;
  return most + std::log(sum);
}

} // namespace

std::vector<ScoreGroup> groupsOf(std::vector<std::pair<double, bool>> scores) {
  std::ranges::sort(scores, std::ranges::greater(),
                    [](auto &score) { return score.first; });
  std::vector<ScoreGroup> groups;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (i == 0 || scores[i].first != scores[i - 1].first)
      groups.emplace_back();
    ++(scores[i].second ? groups.back().positive : groups.back().negative);
  }
  return groups;
}

Result<Tally> Tally::create(const Scores &scores, const Needs &needs,
                            int64_t samples, int64_t batches) {
  Tally tally(scores, needs);
  const int64_t classes = scores.classes, elements = scores.elements();
  const auto size = [](int64_t n) { return size_t(n); };
  if (needs.matrix && classes > kMostClasses)
    return limitExceeded("a confusion matrix of {} classes, expected at most "
                         "{}",
                         classes, kMostClasses);
  if (scores.task == Task::Values)
    tally.width_ = 2 + (needs.columns ? 3 * size(elements) : 0);
  else {
    for (auto *counts : {&tally.hits_, &tally.predicted_, &tally.actual_})
      counts->resize(size(classes));
    tally.matrix_.resize(needs.matrix ? size(classes * classes) : 0);
    tally.topHits_.resize(needs.tops.size());
    tally.width_ = needs.logs ? 1 : 0;
  }
  if (double(tally.width_) * double(batches) > double(kMostSums))
    return limitExceeded("r2 keeps sums of each of a sample's {} values and "
                         "{} batches, expected at most {} in all; leave it out "
                         "or take a larger batch",
                         elements, batches, kMostSums / 3);
  tally.sums_.resize(tally.width_ * size(batches));
  tally.binned_ =
      needs.order && elements > 0 && samples > kMostScores / elements;
  if (needs.order && tally.binned_)
    tally.bins_.resize(size(classes * 2 * kBins));
  if (needs.order && !tally.binned_) {
    tally.order_.resize(size(samples * elements));
    tally.truth_.resize(size(samples * elements));
  }
  tally.row_.resize(size(classes));
  return tally;
}

void Tally::keepScore(int64_t at, size_t c, double probability,
                      bool isPositive) {
  if (std::isnan(probability)) {
    ++notNumbers_;
    return;
  }
  if (binned_) {
    const auto part =
        std::clamp<int64_t>(int64_t(probability * double(kBins)), 0, kBins - 1);
    ++bins_[(c * 2 + !isPositive) * size_t(kBins) + size_t(part)];
    return;
  }
  const size_t i = size_t(at) * size_t(scores_.classes) + c;
  order_[i] = probability;
  truth_[i] = isPositive ? 2 : 1;
}

Status Tally::addClasses(int64_t sample, int64_t batch,
                         std::span<const float> out,
                         std::span<const int64_t> labels) {
  const int64_t rows = scores_.rows(), inner = scores_.inner;
  const auto classes = size_t(scores_.classes);
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t label = labels[size_t(r)];
    if (scores_.ignored == label)
      continue;
    if (label < 0 || label >= scores_.classes)
      return failed(
          "sample {} has label {}, which is not one of the {} classes", sample,
          label, classes);
    const float *scores =
        &out[size_t(r / inner * scores_.classes * inner + r % inner)];
    for (size_t c = 0; c < classes; ++c)
      row_[c] = scores[c * size_t(inner)];
    const auto actual = size_t(label);
    const auto best = size_t(std::ranges::max_element(row_) - row_.begin());
    ++rows_, ++actual_[actual], ++predicted_[best];
    hits_[actual] += best == actual, right_ += best == actual;
    if (needs_.matrix)
      ++matrix_[actual * classes + best];
    if (!needs_.tops.empty())
      addTops(actual);
    if (needs_.order || needs_.logs)
      addScores(sample * rows + r, batch, actual);
  }
  return {};
}

void Tally::addTops(size_t actual) {
  size_t before = 0; // larger scores, or equal ones of earlier classes
  for (size_t c = 0; c < row_.size(); ++c)
    before += row_[c] > row_[actual] || (row_[c] == row_[actual] && c < actual);
  for (size_t i = 0; i < needs_.tops.size(); ++i)
    topHits_[i] += before < size_t(needs_.tops[i]);
}

void Tally::addScores(int64_t at, int64_t batch, size_t actual) {
  const double own = row_[actual];
  const double lse = scores_.probabilities ? 0 : softmaxOf(row_);
  if (needs_.logs)
    *slot(batch) += scores_.probabilities ? -std::log(own) : lse - own;
  for (size_t c = 0; needs_.order && c < row_.size(); ++c)
    keepScore(at, c, row_[c], c == actual);
}

void Tally::addBinary(int64_t sample, std::span<const float> out,
                      std::span<const double> labels) {
  const int64_t rows = scores_.rows(), inner = scores_.inner;
  const double threshold = scores_.probabilities ? 0.5 : 0;
  for (int64_t r = 0; r < rows; ++r) {
    ++rows_;
    for (size_t c = 0; c < size_t(scores_.classes); ++c) {
      const auto at = size_t(
          (r / inner * scores_.classes + int64_t(c)) * inner + r % inner);
      const double score = out[at];
      const bool found = score > threshold, actual = labels[at] > 0.5;
      hits_[c] += found && actual;
      predicted_[c] += found;
      actual_[c] += actual;
      right_ += found == actual;
      if (needs_.order) // logits have the same order, with more bits
        keepScore(sample * rows + r, c,
                  scores_.probabilities || !binned_ ? score : sigmoid(score),
                  actual);
    }
  }
}

// Sums of |e| and e^2; per column sums of e^2, d and d^2, where d is the
// difference to the first sample's label, which keeps the variance accurate.
void Tally::addValues(int64_t batch, std::span<const float> out,
                      std::span<const double> labels,
                      std::span<const double> first) {
  double *sums = slot(batch), *column = sums + 2;
  for (size_t i = 0; i < out.size(); ++i) {
    const double error = double(out[i]) - labels[i];
    sums[0] += std::abs(error);
    sums[1] += error * error;
    if (!needs_.columns)
      continue;
    const double distance = labels[i] - first[i];
    *column++ += error * error;
    *column++ += distance;
    *column++ += distance * distance;
  }
  ++rows_;
}

Status Tally::combine(Communicator *communicator) {
  const auto add = [&](auto &values, DType type) -> Status {
    return communicator && !values.empty()
               ? communicator->allReduce(values.data(), values.size(), type,
                                         ReduceOp::Sum)
               : Status();
  };
  std::vector<int64_t> whole = {rows_, right_, notNumbers_};
  for (auto *counts :
       {&whole, &hits_, &predicted_, &actual_, &matrix_, &topHits_, &bins_})
    DLC_TRY(add(*counts, DType::I64));
  rows_ = whole[0], right_ = whole[1], notNumbers_ = whole[2];
  DLC_TRY(add(order_, DType::F64));
  DLC_TRY(add(truth_, DType::I32));
  DLC_TRY(add(sums_, DType::F64));
  totals_.assign(width_, 0);
  for (size_t i = 0; i < sums_.size(); ++i)
    totals_[i % width_] += sums_[i];
  return {};
}

ClassCounts Tally::countsOf(size_t c) const {
  const auto tp = double(hits_[c]), found = double(predicted_[c]),
             actual = double(actual_[c]);
  return {tp, found - tp, actual - tp, double(rows_) - found - actual + tp};
}

} // namespace dlc
