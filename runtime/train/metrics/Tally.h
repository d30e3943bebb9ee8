// SPDX-License-Identifier: Apache-2.0
// Counts and sums over all samples of all ranks, from which metrics are
// computed.
#pragma once

#include "runtime/collective/Communicator.h"
#include "runtime/train/metrics/Scores.h"

#include <cstdint>
#include <span>
#include <vector>

namespace dlc {

// Statistics needed besides the class counts, which all class metrics use.
struct Needs {
  bool matrix = false;   // confusion matrix
  bool order = false;    // order of all scores
  bool logs = false;     // log-probabilities of labels
  bool columns = false;  // sums of each element of a sample
  std::vector<int> tops; // k of top-k accuracies
};

// True positives, false positives, false negatives and true negatives of a
// class or label.
struct ClassCounts {
  double tp = 0, fp = 0, fn = 0, tn = 0;
};

// Not thread-safe. Counts are integers, and sums are added in batch order, so
// that results are bitwise independent of the number of ranks.
class Tally {
public:
  // Largest number of scores that are stored to sort them exactly; otherwise
  // they are counted in kBins equal bins of [0, 1].
  static constexpr int64_t kMostScores = int64_t(1) << 22;
  static constexpr int64_t kBins = 4096;
  static constexpr int64_t kMostClasses = 1024; // in a confusion matrix

  // For these numbers of samples and batches. Code::Limit if that needs too
  // much memory.
  static Result<Tally> create(const Scores &scores, const Needs &needs,
                              int64_t samples, int64_t batches);

  // Adds a sample's output with one label per row, or one per element.
  Status addClasses(int64_t sample, int64_t batch, std::span<const float> out,
                    std::span<const int64_t> labels);
  void addBinary(int64_t sample, std::span<const float> out,
                 std::span<const double> labels);
  // `first`: the labels of the first sample overall.
  void addValues(int64_t batch, std::span<const float> out,
                 std::span<const double> labels, std::span<const double> first);

  // Sums over all ranks; null: only this rank.
  Status combine(Communicator *communicator);

  const Scores &scores() const { return scores_; }
  int64_t rows() const { return rows_; } // without ignored ones
  int64_t right() const { return right_; }
  int64_t topHits(size_t i) const { return topHits_[i]; }
  std::span<const int64_t> matrix() const { return matrix_; } // [label][output]
  ClassCounts countsOf(size_t c) const;
  int64_t actual(size_t c) const { return actual_[c]; }
  bool isBinned() const { return binned_; }
  // Total of sum `i` over all batches; call after combine().
  double sum(size_t i) const { return totals_[i]; }
  // Calls `take`(positive, negative) for each group of equal scores of a class,
  // the highest first; returns false without a call if a score is NaN.
  template <class Take> bool inOrder(size_t c, const Take &take) const;

private:
  // For the current row, whose label is `actual`; addScores replaces the row's
  // values by probabilities.
  void addTops(size_t actual);
  void addScores(int64_t at, int64_t batch, size_t actual);
  Tally(const Scores &scores, const Needs &needs)
      : scores_(scores), needs_(needs) {}
  void keepScore(int64_t at, size_t c, double probability, bool isPositive);
  double *slot(int64_t batch) { return &sums_[size_t(batch) * width_]; }

  Scores scores_;
  Needs needs_;
  bool binned_ = false;
  int64_t rows_ = 0, right_ = 0, notNumbers_ = 0;
  std::vector<int64_t> hits_, predicted_, actual_, matrix_, topHits_;
  std::vector<double> order_;  // probabilities, or logits, of [row, class]
  std::vector<int32_t> truth_; // of each: 1 no, 2 yes; 0: ignored
  std::vector<int64_t> bins_;  // [class, yes or no, bin]
  size_t width_ = 0;
  std::vector<double> sums_, totals_; // [batch, width]; [width]
  std::vector<double> row_;           // workspace for one row
};

// Counts of a group of equal scores of a class.
struct ScoreGroup {
  int64_t positive = 0, negative = 0;
};
std::vector<ScoreGroup> groupsOf(std::vector<std::pair<double, bool>> scores);

template <class Take> bool Tally::inOrder(size_t c, const Take &take) const {
  if (notNumbers_ > 0)
    return false;
  if (binned_) {
    const int64_t *yes = &bins_[c * 2 * kBins], *no = yes + kBins;
    for (int64_t i = kBins; i-- > 0;)
      if (yes[i] + no[i] > 0)
        take(yes[i], no[i]);
    return true;
  }
  std::vector<std::pair<double, bool>> scores;
  for (size_t i = c; i < order_.size(); i += size_t(scores_.classes))
    if (truth_[i] > 0)
      scores.emplace_back(order_[i], truth_[i] == 2);
  for (const ScoreGroup &group : groupsOf(std::move(scores)))
    take(group.positive, group.negative);
  return true;
}

} // namespace dlc
