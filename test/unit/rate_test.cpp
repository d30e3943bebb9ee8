// SPDX-License-Identifier: Apache-2.0
// runtime/train/find: what losses of a range test say. runtime/train/run: the
// rate of a schedule by validations.
#include "runtime/train/find/RateTest.h"
#include "runtime/train/run/Best.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

using namespace dlc;

namespace {

// Losses by the decade of the rate, from 1e-6 to 1.
std::vector<RateTestPoint> points(const std::function<double(double)> &loss) {
  std::vector<RateTestPoint> result;
  for (int i = 0; i <= 120; ++i) {
    const double decade = -6 + i / 20.0;
    result.push_back({std::pow(10, decade), loss(decade)});
  }
  return result;
}

// Level to 1e-4, down by a slope that is steepest at 1e-2.5, up behind 1e-1.
double valley(double decade) {
  const double down = -1 / (1 + std::exp(-6 * (decade + 2.5)));
  return 2 + down + (decade > -1 ? 4 * (decade + 1) * (decade + 1) : 0);
}

TEST(Rate, SteepestAndTenthOfTheLeast) {
  const RateSuggestion found = suggestRate(points(valley));
  ASSERT_TRUE(found.steepest && found.tenth);
  EXPECT_NEAR(std::log10(*found.steepest), -2.5, 0.1);
  EXPECT_NEAR(std::log10(*found.tenth), -2, 0.3); // smoothing shifts it
}

TEST(Rate, LeapsMoveNothing) {
  auto noisy = points(valley);
  for (const size_t i : {20, 65, 90})
    noisy[i].loss = 50;
  noisy[40].loss = -30;
  const RateSuggestion found = suggestRate(noisy);
  ASSERT_TRUE(found.steepest);
  EXPECT_NEAR(std::log10(*found.steepest), -2.5, 0.15);
}

TEST(Rate, NothingWhereItNeverFalls) {
  const auto rising = [](double decade) { return decade; };
  EXPECT_FALSE(suggestRate(points(rising)).steepest);
  EXPECT_FALSE(suggestRate(points(rising)).tenth);
  const auto level = [](double) { return 1.0; };
  EXPECT_FALSE(suggestRate(points(level)).steepest);
  EXPECT_FALSE(suggestRate({}).steepest);
}

TEST(Rate, NothingInNoise) {
  const auto noise = [](double decade) {
    return 2 + 0.1 * std::sin(1e3 * decade) - 0.005 * decade;
  };
  EXPECT_FALSE(suggestRate(points(noise)).steepest);
}

TEST(Rate, ConstantsStayConstantWhenSmoothed) {
  const auto smooth = suggestRate(points([](double) { return 1.5; })).smooth;
  for (const double value : smooth)
    EXPECT_DOUBLE_EQ(value, 1.5);
}

plan::Plateau ruleOf(double factor, int64_t patience, double threshold,
                     double least) {
  plan::Plateau rule;
  rule.set_lr(0.1);
  rule.set_factor(factor);
  rule.set_patience(patience);
  rule.set_threshold(threshold);
  rule.set_min_lr(least);
  return rule;
}

void expectRates(const plan::Plateau &rule, bool more,
                 const std::vector<double> &values,
                 const std::vector<double> &rates) {
  ASSERT_EQ(values.size(), rates.size());
  PlateauState state;
  double before = rule.lr();
  for (size_t i = 0; i < values.size(); ++i) {
    const bool reduces = takeValue(state, rule, values[i], more);
    EXPECT_NEAR(rateOf(state, rule), rates[i], 1e-12 * rates[i]) << i;
    EXPECT_EQ(reduces, rates[i] < before * (1 - 1e-9)) << i;
    before = rates[i];
  }
}

// Rates of torch.optim.lr_scheduler.ReduceLROnPlateau, torch 2.15.
TEST(Plateau, RatesOfTorch) {
  expectRates(
      ruleOf(0.5, 2, 1e-3, 0.02), false,
      {1.0,  0.9,  0.9,  0.8999, 0.91, 0.85, 0.8495, NAN, 0.9, 0.86, 0.84,
       0.84, 0.84, 0.84, 0.84,   0.84, 0.5,  0.6,    0.6, 0.6, 0.6},
      {0.1,   0.1,   0.1,  0.1,  0.05, 0.05, 0.05, 0.05, 0.025, 0.025, 0.025,
       0.025, 0.025, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02,  0.02});
  expectRates(ruleOf(0.1, 1, 1e-2, 0), true,
              {0.1, 0.2, 0.2001, 0.2, 0.19, 0.3, 0.1, 0.1, 0.1, 0.1, 0.1},
              {0.1, 0.1, 0.1, 0.01, 0.01, 0.01, 0.01, 1e-3, 1e-3, 1e-4, 1e-4});
}

TEST(Plateau, SmallChangesAreLeftOut) {
  expectRates(ruleOf(0.01, 0, 1e-4, 0), false, std::vector<double>(8, 1.0),
              {0.1, 1e-3, 1e-5, 1e-7, 1e-9, 1e-9, 1e-9, 1e-9});
}

TEST(Plateau, ARunWithoutAGoodValueReduces) {
  expectRates(ruleOf(0.1, 1, 1e-4, 0), false, {NAN, NAN, NAN, 2, 2, 2},
              {0.1, 0.01, 0.01, 0.01, 0.01, 1e-3});
}

} // namespace
