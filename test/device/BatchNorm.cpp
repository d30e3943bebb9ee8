// SPDX-License-Identifier: Apache-2.0
#include "Fixture.h"

namespace dlc::test {
namespace {

constexpr double kEpsilon = 1e-5, kMomentum = 0.9;

struct NormGeometry {
  std::string name;
  Shape x; // [N, C, spatial...]
};

const std::vector<NormGeometry> kNormGeometries = {
    {"few", {5, 1}},           {"features", {37, 5}},
    {"images", {4, 6, 5, 7}},  {"wide", {3, 130, 3, 3}},
    {"line", {5, 3, 11}},      {"large", {8, 16, 28, 28}},
    {"single", {1, 3, 4, 4}},  {"volume", {2, 3, 2, 3, 4}},
    {"uneven", {2, 58, 8, 8}},
};

class BatchNormTest
    : public testing::TestWithParam<std::tuple<NormGeometry, std::string>> {
protected:
  Attributes attributes(bool unbiased = false) const {
    return {{"epsilon", kEpsilon},
            {"layout", layout},
            {"momentum", kMomentum},
            {"unbiased", int64_t(unbiased)}};
  }
  Case::Slot perChannel(std::vector<double> values = {}) const {
    return {{channels}, plan::F32, std::move(values)};
  }
  Case forward(bool unbiased = false) const {
    std::vector<double> var(channels, 1.5);
    return {"batch_norm",
            attributes(unbiased),
            {{x}, perChannel(), perChannel(), perChannel(), perChannel(var)},
            {{x}, perChannel(), perChannel(), perChannel(), perChannel()}};
  }
  Case backward(const std::vector<double> &dy) const {
    const auto outputs = run(forward(), plan::F64, 1);
    return {"batch_norm_backward",
            attributes(),
            {{x, {}, dy},
             {x, {}, randomValues(count(x), 1)},
             perChannel(randomValues(channels, 2)),
             perChannel(outputs[3].values()),
             perChannel(outputs[4].values())},
            {{x}, perChannel(), perChannel()}};
  }
  // Channel of element i.
  int64_t channelOf(int64_t i) const {
    return layout == "nhwc" ? i % channels : i / spatial % channels;
  }

  static Shape withLayout(const Shape &shape, const std::string &layout) {
    Shape result = shape;
    if (layout == "nhwc") {
      result.erase(result.begin() + 1);
      result.push_back(shape[1]);
    }
    return result;
  }

  const std::string layout = std::get<1>(GetParam());
  const Shape &nchw = std::get<0>(GetParam()).x;
  const Shape x = withLayout(nchw, layout);
  const int64_t channels = nchw[1];
  const int64_t spatial = count(nchw) / nchw[0] / nchw[1];
};

// The definition, in two plain passes.
TEST_P(BatchNormTest, ForwardIsTheDefinition) {
  const auto values = randomValues(count(x), 1);
  const auto scale = randomValues(channels, 2),
             bias = randomValues(channels, 3);
  const auto oldMean = randomValues(channels, 4);
  const double n = static_cast<double>(count(x) / channels);
  std::vector<double> mean(channels), var(channels);
  for (int64_t i = 0; i < count(x); ++i)
    mean[channelOf(i)] += values[i] / n;
  for (int64_t i = 0; i < count(x); ++i)
    var[channelOf(i)] += std::pow(values[i] - mean[channelOf(i)], 2) / n;
  for (bool unbiased : {false, true}) {
    const auto found = run(forward(unbiased), plan::F64, 2);
    for (int64_t i = 0; i < count(x); ++i) {
      const int64_t c = channelOf(i);
      ASSERT_NEAR(found[0][i],
                  (values[i] - mean[c]) / std::sqrt(var[c] + kEpsilon) *
                          scale[c] +
                      bias[c],
                  1e-9);
    }
    for (int64_t c = 0; c < channels; ++c) {
      const double running = unbiased ? var[c] * n / (n - 1) : var[c];
      EXPECT_NEAR(found[1][c], oldMean[c] * 0.9 + mean[c] * 0.1, 1e-12);
      EXPECT_NEAR(found[2][c], 1.5 * 0.9 + running * 0.1, 1e-12);
      EXPECT_NEAR(found[3][c], mean[c], 1e-12);
      EXPECT_NEAR(found[4][c], var[c], 1e-12);
    }
  }
}

TEST_P(BatchNormTest, Conforms) {
  expectConforms(forward(true), 5e-6);
  expectConforms(backward(randomValues(count(x), 7)), 5e-6, 3e-2);
}

TEST_P(BatchNormTest, DoesNotDependOnThreads) {
  for (auto type : {plan::F32, plan::F16, plan::BF16}) {
    expectThreadInvariant(forward(), type);
    expectThreadInvariant(backward(randomValues(count(x), 7)), type);
  }
}

TEST_P(BatchNormTest, BackwardIsTheGradient) {
  if (count(x) > 1000)
    GTEST_SKIP() << "finite differences on the small shapes only";
  const auto dy = randomValues(count(x), 7);
  const auto found = run(backward(dy), plan::F64, 1);
  for (size_t operand = 0; operand < 3; ++operand)
    expectIsGradient(forward(), operand, 0, dy, found[operand].values());
}

INSTANTIATE_TEST_SUITE_P(Shapes, BatchNormTest,
                         testing::Combine(testing::ValuesIn(kNormGeometries),
                                          testing::Values("nchw", "nhwc")),
                         [](const auto &info) {
                           return std::get<0>(info.param).name + "_" +
                                  std::get<1>(info.param);
                         });

// A mean a thousand times the deviation: squares of x would lose the variance.
TEST(BatchNorm, KeepsTheVarianceOfShiftedData) {
  for (const char *layout : {"nchw", "nhwc"}) {
    std::vector<double> values = randomValues(4096, 1);
    for (double &value : values)
      value += 2000;
    const Case c{"batch_norm",
                 {{"layout", std::string(layout)}},
                 {{{1024, 4}, {}, values},
                  {{4}, plan::F32},
                  {{4}, plan::F32},
                  {{4}, plan::F32},
                  {{4}, plan::F32}},
                 {{{1024, 4}},
                  {{4}, plan::F32},
                  {{4}, plan::F32},
                  {{4}, plan::F32},
                  {{4}, plan::F32}}};
    const auto truth = run(c, plan::F64, 1), found = run(c, plan::F32, 2);
    EXPECT_LE(relativeError(found[4], truth[4]), 1e-5);
  }
}

TEST(BatchNorm, EmptyBatchIsCorrupt) {
  CpuDevice device(1);
  const Case::Slot channel{{2}, plan::F32};
  const Case c{"batch_norm",
               {},
               {{{0, 2}}, channel, channel, channel, channel},
               {{{0, 2}}, channel, channel, channel, channel}};
  auto inputs = makeInputs(c, plan::F32), outputs = makeOutputs(c, plan::F32);
  EXPECT_EQ(tryRun(device, c.kind, c.attributes, inputs, outputs).code(),
            Code::Corrupt);
}

} // namespace
} // namespace dlc::test
