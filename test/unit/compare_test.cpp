// SPDX-License-Identifier: Apache-2.0
// What dlc debug compare takes for the same tensor, and for noise.
#include "runtime/train/compare/ComparedStates.h"
#include "runtime/train/compare/ResultProbes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace dlc;

namespace {

WideTensor counted(std::vector<int64_t> shape) {
  size_t count = 1;
  for (int64_t d : shape)
    count *= static_cast<size_t>(d);
  WideTensor tensor{std::move(shape), std::vector<double>(count)};
  for (size_t i = 0; i < count; ++i)
    tensor.values[i] = std::sin(static_cast<double>(i) + 1);
  return tensor;
}

TEST(Closeness, FindsTheOrderOfDimensions) {
  const WideTensor a = counted({2, 3, 4, 5});
  const std::vector<std::vector<int>> orders = {
      {0, 1, 2, 3}, {0, 2, 3, 1}, {0, 3, 1, 2}};
  for (const std::vector<int> &axes : orders) {
    const Closeness found = compareTensors(a, permute(a, axes)).value();
    EXPECT_EQ(found.axes, axes);
    EXPECT_EQ(found.error, 0);
  }
  const WideTensor matrix = counted({3, 5});
  EXPECT_EQ(compareTensors(matrix, permute(matrix, std::vector{1, 0}))->axes,
            (std::vector{1, 0}));
  // All dimensions equal: the values tell.
  const WideTensor cube = counted({3, 3, 3});
  EXPECT_EQ(compareTensors(cube, permute(cube, std::vector{0, 2, 1}))->error,
            0);
  EXPECT_FALSE(compareTensors(a, counted({5, 4, 3, 2})));
  EXPECT_FALSE(compareTensors(a, counted({2, 3, 20})));
}

TEST(Closeness, SaysHowFarAndWhere) {
  const WideTensor a{{2, 2}, {3, 0, 0, 4}};
  WideTensor b = a;
  b.values[2] = 0.5;
  const Closeness found = compareTensors(a, b).value();
  EXPECT_DOUBLE_EQ(found.error, 0.1);
  EXPECT_EQ(positionOf(found.worst, b.shape), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(found.b, 0.5);
  // Against zeros it is the size itself.
  EXPECT_DOUBLE_EQ(compareTensors({{1}, {0}}, {{1}, {0.25}})->error, 0.25);
  EXPECT_EQ(compareTensors({{0}, {}}, {{0}, {}})->error, 0);
  EXPECT_EQ(compareTensors({{}, {2}}, {{}, {2}})->error, 0);
}

TEST(Closeness, KnowsInfinities) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const WideTensor a{{3}, {1, infinity, nan}};
  EXPECT_EQ(compareTensors(a, a)->error, 0);
  EXPECT_EQ(compareTensors(a, {{3}, {1, infinity, 2}})->error, infinity);
  EXPECT_EQ(compareTensors(a, {{3}, {1, -infinity, nan}})->error, infinity);
  EXPECT_DOUBLE_EQ(rootMeanSquare({{3}, {3, nan, -3}}), 3);
  EXPECT_DOUBLE_EQ(standardDeviation({{3}, {5, nan, 3}}), 1);
}

TEST(Closeness, TrimsAFewElementsAlone) {
  const WideTensor a = counted({100});
  WideTensor few = a, all = a;
  for (size_t i : {3, 50, 97})
    few.values[i] += 1;
  for (double &x : all.values)
    x *= 1.01;
  EXPECT_EQ(trimmedError(a, few, 0.05), 0);
  EXPECT_NEAR(trimmedError(a, all, 0.05), 0.01, 0.002);
}

// A program of commands that each read and write f32 [2, 3] in scratch memory.
struct Results {
  plan::Plan plan;
  plan::Program program;

  Results() { plan.add_regions()->set_kind(plan::Region::SCRATCH); }
  void add(const std::string &kind, const std::string &nodes,
           std::vector<int64_t> shape = {2, 3}) {
    plan::Buffer &buffer = *program.add_buffers();
    buffer.mutable_type()->set_dtype(plan::F32);
    for (int64_t d : shape)
      buffer.mutable_type()->add_shape(d);
    buffer.set_offset(64 * static_cast<uint64_t>(program.buffers_size()));
    plan::Command &command = *program.add_commands();
    command.set_kind(kind);
    command.set_label(nodes);
    command.add_outputs(static_cast<uint32_t>(program.buffers_size() - 1));
  }
  void endForward() {
    plan::Port &loss = *program.add_outputs();
    loss.set_name("loss");
    loss.set_buffer(static_cast<uint32_t>(program.buffers_size() - 1));
  }
};

ResultPairs pair(const Results &a, const Results &b) {
  return pairResults(a.plan, a.program, b.plan, b.program);
}

TEST(ResultPairs, PairsByNodesSideAndDimensions) {
  Results a, b;
  a.add("conv", "/c");
  a.add("relu", "/r");
  a.add("loss", "/l");
  a.endForward();
  a.add("relu", "/r");
  b = a;
  const ResultPairs same = pair(a, b);
  ASSERT_EQ(same.certain.size(), 4u);
  for (const ResultPair &pair : same.certain)
    EXPECT_EQ(pair.a, pair.b);
  EXPECT_TRUE(same.possible.empty());

  Results transposed;
  transposed.add("conv", "/c", {3, 2});
  EXPECT_EQ(pair(a, transposed).certain.size(), 1u);
  Results other;
  other.add("conv", "/c", {2, 4});
  EXPECT_TRUE(pair(a, other).certain.empty());
  EXPECT_TRUE(pair(a, other).possible.empty());
}

TEST(ResultPairs, LeavesDoubtToTheValues) {
  Results a, b;
  a.add("conv", "/c");
  a.add("relu", "/r");
  b.add("fused", "/c; /r");
  const ResultPairs fused = pair(a, b);
  EXPECT_TRUE(fused.certain.empty());
  ASSERT_EQ(fused.possible.size(), 1u);
  EXPECT_EQ(fused.possible.begin()->second,
            (std::vector<ResultPlace>{{0, 0}, {1, 0}}));
  EXPECT_EQ(fused.resultsA, 2);
  EXPECT_EQ(fused.resultsB, 1);
}

TEST(ResultPairs, LossMayLieWhereOtherResultsHaveBeen) {
  Results a;
  a.add("conv", "/c", {1});
  a.add("relu", "/r", {1});
  a.add("loss", "/l", {1});
  a.program.mutable_buffers(2)->set_offset(a.program.buffers(0).offset());
  a.endForward();
  Results b;
  b.add("conv", "/c", {1});
  b.add("relu", "/r", {1});
  b.add("loss", "/l", {1});
  b.endForward();
  EXPECT_EQ(pair(a, b).certain.size(), 3u);
}

} // namespace
