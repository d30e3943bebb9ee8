// SPDX-License-Identifier: Apache-2.0
#include "Fixture.h"

namespace dlc::test {
namespace {

struct PoolGeometry {
  std::string name;
  int64_t n, c;
  Shape in, out; // one to three dimensions
  Shape kernel, strides, pads = Shape(2 * in.size(), 0),
                         dilations = Shape(in.size(), 1);
};

const std::vector<PoolGeometry> kPoolGeometries = {
    {"one", 1, 1, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {"lenet", 3, 6, {8, 8}, {4, 4}, {2, 2}, {2, 2}},
    {"resnet", 2, 19, {11, 11}, {6, 6}, {3, 3}, {2, 2}, {1, 1, 1, 1}},
    {"overlapping", 2, 3, {7, 70}, {7, 70}, {3, 3}, {1, 1}, {1, 1, 1, 1}},
    {"asymmetric", 2, 5, {9, 8}, {4, 4}, {3, 2}, {3, 2}, {1, 1, 2, 0}},
    {"dilated", 1, 70, {9, 9}, {5, 5}, {3, 3}, {1, 1}, {0, 0, 0, 0}, {2, 2}},
    {"ceil", 1, 2, {6, 6}, {3, 3}, {3, 3}, {2, 2}, {0, 0, 1, 1}},
    {"global", 2, 33, {7, 7}, {1, 1}, {7, 7}, {1, 1}},
    {"noImages", 0, 3, {4, 4}, {2, 2}, {2, 2}, {2, 2}},
    {"signal", 3, 5, {21}, {11}, {3}, {2}, {1, 1}},
    {"dilatedSignal", 2, 20, {12}, {8}, {3}, {1}, {0, 0}, {2}},
    {"volume", 2, 3, {4, 6, 5}, {2, 3, 2}, {2, 2, 2}, {2, 2, 2}},
    {"overlappingVolume",
     1,
     17,
     {3, 4, 5},
     {3, 2, 5},
     {3, 3, 3},
     {1, 2, 1},
     {1, 1, 1, 1, 1, 1}},
    {"asymmetricVolume",
     2,
     2,
     {5, 4, 6},
     {3, 4, 3},
     {3, 2, 2},
     {2, 1, 2},
     {1, 0, 1, 1, 1, 0},
     {1, 1, 2}},
};

// Positions in their order, a row of the last dimension after the other.
std::vector<Shape> places(const Shape &sizes) {
  std::vector<Shape> all;
  Shape at(sizes.size(), 0);
  for (int64_t i = 0, n = count(sizes); i < n; ++i) {
    all.push_back(at);
    for (size_t d = sizes.size(); d-- > 0; at[d] = 0)
      if (++at[d] < sizes[d])
        break;
  }
  return all;
}

class PoolTest
    : public testing::TestWithParam<std::tuple<PoolGeometry, std::string>> {
protected:
  Shape image(const Shape &sizes) const {
    Shape shape = {g.n};
    shape.insert(shape.end(), sizes.begin(), sizes.end());
    shape.insert(layout == "nhwc" ? shape.end() : shape.begin() + 1, g.c);
    return shape;
  }
  // Where an element of an image of these sizes lies.
  int64_t index(const Shape &sizes, int64_t n, int64_t c,
                const Shape &at) const {
    int64_t pixel = 0;
    for (size_t d = 0; d < sizes.size(); ++d)
      pixel = pixel * sizes[d] + at[d];
    return layout == "nhwc" ? (n * count(sizes) + pixel) * g.c + c
                            : (n * g.c + c) * count(sizes) + pixel;
  }
  Case make(const std::string &kind, std::vector<Case::Slot> inputs,
            std::vector<Case::Slot> outputs, bool countPad = false) const {
    return {kind,
            {{"count_include_pad", int64_t(countPad)},
             {"dilations", g.dilations},
             {"kernel", g.kernel},
             {"layout", layout},
             {"pads", g.pads},
             {"strides", g.strides}},
            std::move(inputs),
            std::move(outputs)};
  }
  // The first of the largest, or the last NaN, and which tap it is.
  std::pair<double, int64_t> largest(const std::vector<double> &values,
                                     int64_t n, int64_t c,
                                     const Shape &out) const {
    double best = -INFINITY;
    int64_t at = -1, number = 0;
    for (const Shape &tap : places(g.kernel)) {
      Shape in(out.size());
      bool isInside = true;
      for (size_t d = 0; d < out.size(); ++d) {
        in[d] = out[d] * g.strides[d] - g.pads[d] + tap[d] * g.dilations[d];
        isInside = isInside && in[d] >= 0 && in[d] < g.in[d];
      }
      const double v = isInside ? values[index(g.in, n, c, in)] : -INFINITY;
      if (isInside && (at < 0 || v > best || std::isnan(v)))
        best = v, at = number;
      ++number;
    }
    return {best, std::max<int64_t>(at, 0)};
  }

  const PoolGeometry &g = std::get<0>(GetParam());
  const std::string layout = std::get<1>(GetParam());
  const Shape x = image(g.in), y = image(g.out);
};

// The definition, word for word: scan the window, keep what is greater.
TEST_P(PoolTest, MaxIsPyTorchs) {
  // Few different values and a NaN or two: ties and NaNs decide the index.
  auto values = randomValues(count(x), 1);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = i % 97 == 13 ? NAN : std::round(values[i]);
  const Case c = make("max_pool", {{x, {}, values}}, {{y}, {y, plan::U8}});
  for (auto type : {plan::F32, plan::F16, plan::BF16, plan::F64}) {
    const auto found = run(c, type, 2);
    for (int64_t n = 0; n < g.n; ++n)
      for (int64_t ch = 0; ch < g.c; ++ch)
        for (const Shape &out : places(g.out)) {
          const auto [best, at] = largest(values, n, ch, out);
          const int64_t o = index(g.out, n, ch, out);
          ASSERT_EQ(found[1][o], at) << o;
          ASSERT_TRUE(found[0][o] == best ||
                      (std::isnan(best) && std::isnan(found[0][o])));
        }
  }
}

TEST_P(PoolTest, MaxBackwardIsTheGradient) {
  // All different, further apart than the difference step: no ties.
  std::vector<double> values(count(x));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<double>(i * 7919 % 10007) / 64;
  const Case forward =
      make("max_pool", {{x, {}, values}}, {{y}, {y, plan::U8}});
  const auto index = run(forward, plan::F64, 1)[1].values();
  const auto dy = randomValues(count(y), 3);
  const Case backward =
      make("max_pool_backward", {{y, {}, dy}, {y, plan::U8, index}}, {{x}});
  if (count(x) < 1000)
    expectIsGradient(forward, 0, 0, dy,
                     run(backward, plan::F64, 1)[0].values());
  expectConforms(backward);
  expectThreadInvariant(backward, plan::F32);
}

TEST_P(PoolTest, AvgConforms) {
  for (bool countPad : {false, true}) {
    const Case c = make("avg_pool", {{x}}, {{y}}, countPad);
    expectConforms(c);
    expectThreadInvariant(c, plan::F32);
  }
}

TEST_P(PoolTest, AvgBackwardIsTheGradient) {
  for (bool countPad : {false, true}) {
    const auto dy = randomValues(count(y), 3);
    const Case backward =
        make("avg_pool_backward", {{y, {}, dy}}, {{x}}, countPad);
    if (count(x) < 1000)
      expectIsGradient(make("avg_pool", {{x}}, {{y}}, countPad), 0, 0, dy,
                       run(backward, plan::F64, 1)[0].values());
    expectConforms(backward);
    expectThreadInvariant(backward, plan::BF16);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, PoolTest,
                         testing::Combine(testing::ValuesIn(kPoolGeometries),
                                          testing::Values("nchw", "nhwc")),
                         [](const auto &info) {
                           return std::get<0>(info.param).name + "_" +
                                  std::get<1>(info.param);
                         });

// Padding on the left, and past the end in the last window.
TEST(AvgPool, CountsWhatItShould) {
  const Attributes attributes = {{"kernel", Shape{1, 2}},
                                 {"pads", Shape{0, 1, 0, 1}},
                                 {"strides", Shape{1, 2}}};
  Case c{
      "avg_pool", attributes, {{{1, 1, 1, 2}, {}, {4, 6}}}, {{{1, 1, 1, 2}}}};
  EXPECT_EQ(run(c, plan::F32, 1)[0].values(), (std::vector<double>{4, 6}));
  c.attributes["count_include_pad"] = int64_t(1);
  EXPECT_EQ(run(c, plan::F32, 1)[0].values(), (std::vector<double>{2, 3}));
}

TEST(MaxPool, TooManyPositionsAreIncompatible) {
  CpuDevice device(1);
  const Case cases[] = {{"max_pool",
                         {{"kernel", Shape{16, 16}}},
                         {{{1, 1, 16, 16}}},
                         {{{1, 1, 1, 1}}, {{1, 1, 1, 1}, plan::U8}}},
                        {"max_pool",
                         {{"kernel", Shape{4, 8, 8}}},
                         {{{1, 1, 4, 8, 8}}},
                         {{{1, 1, 1, 1, 1}}, {{1, 1, 1, 1, 1}, plan::U8}}}};
  for (const Case &c : cases) {
    auto inputs = makeInputs(c, plan::F32), outputs = makeOutputs(c, plan::F32);
    EXPECT_EQ(tryRun(device, c.kind, c.attributes, inputs, outputs).code(),
              Code::Incompatible);
  }
}

// Sizes whose product is no number are refused before it is made.
TEST(AvgPool, HugeKernelsAreCorrupt) {
  CpuDevice device(1);
  const int64_t huge = INT32_MAX;
  const Case c{"avg_pool",
               {{"kernel", Shape{huge, huge, huge}}},
               {{{1, 1, 2, 2, 2}}},
               {{{1, 1, 2, 2, 2}}}};
  auto inputs = makeInputs(c, plan::F32), outputs = makeOutputs(c, plan::F32);
  EXPECT_EQ(tryRun(device, c.kind, c.attributes, inputs, outputs).code(),
            Code::Corrupt);
}

} // namespace
} // namespace dlc::test
