// SPDX-License-Identifier: Apache-2.0
// runtime/train/find: what losses of a range test say.
#include "runtime/train/find/RateTest.h"

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

} // namespace
