// SPDX-License-Identifier: Apache-2.0
// What metrics are made of: counts and sums over all samples of all ranks.
#pragma once

#include "runtime/collective/Communicator.h"
#include "runtime/train/metrics/Scores.h"

#include <cstdint>
#include <span>
#include <vector>

namespace dlc {

// Besides the counts of each class, which all metrics of classes have.
struct Needs {
  bool matrix = false;   // of each two classes
  bool order = false;    // of all scores
  bool logs = false;     // of the labels' probabilities
  bool columns = false;  // sums of each element of a sample
  std::vector<int> tops; // in how many of the best scores a label is
};

// Of one class or label: how often it was found rightly, wrongly, missed, and
// rightly not found.
struct ClassCounts {
  double tp = 0, fp = 0, fn = 0, tn = 0;
};

// One thread. Counts are whole numbers, and sums are added in the order of the
// batches, so that the bits do not depend on how many ranks share them.
class Tally {
public:
  // Up to so many scores are kept, to put them in order exactly; beyond, each
  // is counted in one of kBins equal parts of [0, 1].
  static constexpr int64_t kMostScores = int64_t(1) << 22;
  static constexpr int64_t kBins = 4096;
  static constexpr int64_t kMostClasses = 1024; // in a matrix

  // For so many samples, in so many batches. Code::Limit if that would take too
  // much memory.
  static Result<Tally> create(const Scores &scores, const Needs &needs,
                              int64_t samples, int64_t batches);

  // A sample's output, and its labels: one a row, or one an element.
  Status addClasses(int64_t sample, int64_t batch, std::span<const float> out,
                    std::span<const int64_t> labels);
  void addBinary(int64_t sample, std::span<const float> out,
                 std::span<const double> labels);
  // `first`: the labels of the first sample of all.
  void addValues(int64_t batch, std::span<const float> out,
                 std::span<const double> labels, std::span<const double> first);

  // Of all ranks together; null: of this one.
  Status combine(Communicator *communicator);

  const Scores &scores() const { return scores_; }
  int64_t rows() const { return rows_; } // that count
  int64_t right() const { return right_; }
  int64_t topHits(size_t i) const { return topHits_[i]; }
  std::span<const int64_t> matrix() const { return matrix_; } // labels' rows
  ClassCounts countsOf(size_t c) const;
  int64_t actual(size_t c) const { return actual_[c]; }
  bool isBinned() const { return binned_; }
  // Sum `i` over all batches, after combine().
  double sum(size_t i) const { return totals_[i]; }
  // Calls `take`(positive, negative) for each group of equal scores of a class,
  // the highest first; false, and no call, if a score is not a number.
  template <class Take> bool inOrder(size_t c, const Take &take) const;

private:
  // Of the row at hand, whose label is `actual`; the second leaves
  // probabilities in it.
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
  std::vector<int32_t> truth_; // of each: 1 no, 2 yes; 0: does not count
  std::vector<int64_t> bins_;  // [class, yes or no, part]
  size_t width_ = 0;
  std::vector<double> sums_, totals_; // [batch, width]; [width]
  std::vector<double> row_;           // of one row, to work with
};

// The scores of a class in groups of equal ones.
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
