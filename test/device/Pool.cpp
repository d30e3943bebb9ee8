#include "Fixture.h"

namespace dlc::test {
namespace {

struct Geometry {
  std::string name;
  int64_t n, c, h, w, oh, ow;
  Shape kernel, strides, pads = {0, 0, 0, 0}, dilations = {1, 1};
};

const std::vector<Geometry> kGeometries = {
    {"one", 1, 1, 1, 1, 1, 1, {1, 1}, {1, 1}},
    {"lenet", 3, 6, 8, 8, 4, 4, {2, 2}, {2, 2}},
    {"resnet", 2, 19, 11, 11, 6, 6, {3, 3}, {2, 2}, {1, 1, 1, 1}},
    {"overlapping", 2, 3, 7, 70, 7, 70, {3, 3}, {1, 1}, {1, 1, 1, 1}},
    {"asymmetric", 2, 5, 9, 8, 4, 4, {3, 2}, {3, 2}, {1, 1, 2, 0}},
    {"dilated", 1, 70, 9, 9, 5, 5, {3, 3}, {1, 1}, {0, 0, 0, 0}, {2, 2}},
    {"ceil", 1, 2, 6, 6, 3, 3, {3, 3}, {2, 2}, {0, 0, 1, 1}},
    {"global", 2, 33, 7, 7, 1, 1, {7, 7}, {1, 1}},
    {"noImages", 0, 3, 4, 4, 2, 2, {2, 2}, {2, 2}},
};

class PoolTest
    : public testing::TestWithParam<std::tuple<Geometry, std::string>> {
protected:
  Shape image(int64_t h, int64_t w) const {
    return layout == "nhwc" ? Shape{g.n, h, w, g.c} : Shape{g.n, g.c, h, w};
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

  const Geometry &g = std::get<0>(GetParam());
  const std::string layout = std::get<1>(GetParam());
  const Shape x = image(g.h, g.w), y = image(g.oh, g.ow);
};

// The definition, word for word: scan the window, keep what is greater.
TEST_P(PoolTest, MaxIsPyTorchs) {
  // Few different values and a NaN or two: ties and NaNs decide the index.
  auto values = randomValues(count(x), 1);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = i % 97 == 13 ? NAN : std::round(values[i]);
  const Case c = make("max_pool", {{x, {}, values}}, {{y}, {y, plan::U8}});
  const auto index = [&](int64_t h, int64_t w, int64_t in, int64_t ic,
                         int64_t ih, int64_t iw) {
    return layout == "nhwc" ? ((in * h + ih) * w + iw) * g.c + ic
                            : ((in * g.c + ic) * h + ih) * w + iw;
  };
  for (auto type : {plan::F32, plan::F16, plan::BF16, plan::F64}) {
    const auto found = run(c, type, 2);
    for (int64_t n = 0; n < g.n; ++n)
      for (int64_t ch = 0; ch < g.c; ++ch)
        for (int64_t oh = 0; oh < g.oh; ++oh)
          for (int64_t ow = 0; ow < g.ow; ++ow) {
            double best = -INFINITY;
            int64_t at = -1;
            for (int64_t tap = 0; tap < g.kernel[0] * g.kernel[1]; ++tap) {
              const int64_t ih = oh * g.strides[0] - g.pads[0] +
                                 tap / g.kernel[1] * g.dilations[0];
              const int64_t iw = ow * g.strides[1] - g.pads[1] +
                                 tap % g.kernel[1] * g.dilations[1];
              if (ih < 0 || ih >= g.h || iw < 0 || iw >= g.w)
                continue;
              const double v = values[index(g.h, g.w, n, ch, ih, iw)];
              if (at < 0 || v > best || std::isnan(v))
                best = v, at = tap;
            }
            const int64_t o = index(g.oh, g.ow, n, ch, oh, ow);
            ASSERT_EQ(found[1][o], std::max<int64_t>(at, 0)) << o;
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
                         testing::Combine(testing::ValuesIn(kGeometries),
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
  const Case c{"max_pool",
               {{"kernel", Shape{16, 16}}},
               {{{1, 1, 16, 16}}},
               {{{1, 1, 1, 1}}, {{1, 1, 1, 1}, plan::U8}}};
  auto inputs = makeInputs(c, plan::F32), outputs = makeOutputs(c, plan::F32);
  EXPECT_EQ(tryRun(device, c.kind, c.attributes, inputs, outputs).code(),
            Code::Incompatible);
}

} // namespace
} // namespace dlc::test
