// SPDX-License-Identifier: Apache-2.0
// Suggests rates from the losses of a range test, and writes its table.
#include "runtime/train/find/RateTest.h"

#include "runtime/base/files/Files.h"
#include "runtime/base/options/OptionTable.h"

#include <algorithm>
#include <cmath>

namespace dlc {

namespace {

// Half width of the smoothing window.
int64_t reachOf(size_t count) {
  return std::max<int64_t>(1, int64_t(count) / 20);
}

// Medians, so that single outliers do not affect the means of medians.
std::vector<double> mediansOf(std::span<const RateTestPoint> points) {
  const auto count = int64_t(points.size());
  const int64_t reach = std::max<int64_t>(1, count / 40);
  std::vector<double> result, around;
  for (int64_t i = 0; i < count; ++i) {
    around.clear();
    const int64_t room = std::min({reach, i, count - 1 - i});
    for (int64_t j = i - room; j <= i + room; ++j)
      around.push_back(points[size_t(j)].loss);
    std::nth_element(around.begin(), around.begin() + room, around.end());
    result.push_back(around[size_t(room)]);
  }
  return result;
}

std::vector<double> smoothed(std::span<const RateTestPoint> points) {
  const std::vector<double> medians = mediansOf(points);
  const auto count = int64_t(points.size());
  const int64_t reach = reachOf(points.size());
  std::vector<double> result;
  for (int64_t i = 0; i < count; ++i) {
    double sum = 0, weights = 0;
    const int64_t room = std::min({reach, i, count - 1 - i});
    for (int64_t j = i - room; j <= i + room; ++j) {
      const auto weight = double(room + 1 - std::abs(i - j));
      sum += weight * medians[size_t(j)];
      weights += weight;
    }
    result.push_back(sum / weights);
  }
  return result;
}

// Noise of losses up to `end` (they jump after the minimum), as a standard
// deviation: 1.48 times the median absolute deviation from the smooth ones.
double noiseOf(std::span<const RateTestPoint> points,
               std::span<const double> smooth, size_t end) {
  std::vector<double> away;
  for (size_t i = 0; i < end; ++i)
    away.push_back(std::abs(points[i].loss - smooth[i]));
  const auto middle = away.begin() + std::ssize(away) / 2;
  std::nth_element(away.begin(), middle, away.end());
  return 1.48 * *middle;
}

} // namespace

RateSuggestion suggestRate(std::span<const RateTestPoint> points) {
  RateSuggestion found;
  found.smooth = smoothed(points);
  const auto &loss = found.smooth;
  const auto least = size_t(std::ranges::min_element(loss) - loss.begin());
  // Means of few points at the ends are noisy.
  const auto first = size_t(reachOf(loss.size()));
  if (loss.size() < 3 || least <= first ||
      loss[first] - loss[least] <= noiseOf(points, loss, least))
    return found;
  double fastest = 0;
  for (size_t i = first; i + 1 < loss.size() && i <= least; ++i) {
    const double slope = (loss[i + 1] - loss[i - 1]) /
                         std::log(points[i + 1].lr / points[i - 1].lr);
    if (slope < fastest)
      fastest = slope, found.steepest = points[i].lr;
  }
  if (found.steepest)
    found.tenth = points[least].lr / 10;
  return found;
}

Status writeRateTest(const std::string &folder, const RateTestResult &result) {
  std::span<const RateTestPoint> points = result.points;
  if (result.diverged)
    points = points.first(points.size() - 1);
  const RateSuggestion found = suggestRate(points);
  std::string csv = "lr,loss,smoothed\n";
  for (size_t i = 0; i < points.size(); ++i)
    csv += fmt::format("{},{},{}\n", points[i].lr, points[i].loss,
                       found.smooth[i]);
  DLC_TRY(makeFolder(folder));
  return writeFileAtomically(folder + "/find-lr.csv", csv);
}

void RateTestOptions::addTo(OptionTable &table) {
  table.group("Learning rate");
  table
      .toggle("run.find-lr", asked,
              "learning-rate range test in place of training, which raises lr "
              "at each step and prints a suggested lr")
      .flagOnly();
  table.number("run.lr-min", low, kAboveZero, kNoLimit, "lr of the first step")
      .only("run.find-lr", {"true"})
      .flagOnly();
  table.number("run.lr-max", high, kAboveZero, kNoLimit, "lr of the last step")
      .only("run.find-lr", {"true"})
      .flagOnly();
  table.count("run.lr-steps", steps, 10, "number of steps of the test", 1000000)
      .only("run.find-lr", {"true"})
      .flagOnly();
}

} // namespace dlc
