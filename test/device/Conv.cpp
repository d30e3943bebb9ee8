// SPDX-License-Identifier: Apache-2.0
#include "Fixture.h"

namespace dlc::test {
namespace {

struct ConvGeometry {
  std::string name;
  int64_t n, c, o;
  Shape in, kernel; // one to three dimensions
  int64_t group = 1;
  Shape strides = Shape(in.size(), 1), pads = Shape(2 * in.size(), 0),
        dilations = Shape(in.size(), 1);
};

const std::vector<ConvGeometry> kConvGeometries = {
    {"one", 1, 1, 1, {1, 1}, {1, 1}},
    {"lenet1", 3, 1, 6, {12, 12}, {5, 5}, 1, {1, 1}, {2, 2, 2, 2}},
    {"lenet2", 3, 6, 16, {10, 10}, {5, 5}},
    {"primes", 2, 7, 5, {11, 13}, {3, 3}, 1, {1, 1}, {1, 1, 1, 1}},
    {"rgb", 2, 3, 8, {17, 17}, {7, 7}, 1, {2, 2}, {3, 3, 3, 3}},
    {"pointwise", 2, 32, 16, {7, 7}, {1, 1}},
    {"strided1x1", 2, 16, 24, {9, 9}, {1, 1}, 1, {2, 2}},
    {"asymmetric", 2, 5, 4, {9, 8}, {3, 2}, 1, {2, 3}, {1, 0, 2, 1}},
    {"dilated", 1, 4, 6, {13, 11}, {3, 3}, 1, {1, 1}, {2, 2, 2, 2}, {2, 2}},
    {"groups", 2, 8, 12, {9, 9}, {3, 3}, 4, {1, 1}, {1, 1, 1, 1}},
    {"depthwise", 2, 19, 19, {8, 8}, {3, 3}, 19, {2, 2}, {1, 1, 1, 1}},
    {"wide", 1, 64, 64, {8, 8}, {3, 3}, 1, {1, 1}, {1, 1, 1, 1}},
    {"noImages", 0, 3, 4, {8, 8}, {3, 3}},
    {"signal", 2, 5, 8, {31}, {5}, 1, {2}, {2, 1}},
    {"signalOfGroups", 3, 16, 16, {17}, {3}, 16, {1}, {4, 0}, {2}},
    {"volume", 2, 3, 8, {5, 7, 6}, {3, 3, 3}, 1, {1, 2, 1}, {1, 1, 1, 1, 1, 1}},
    {"volumeOfGroups",
     1,
     8,
     4,
     {6, 5, 7},
     {2, 3, 1},
     2,
     {2, 1, 3},
     {1, 0, 0, 0, 2, 1},
     {1, 2, 1}},
    {"wideVolume",
     1,
     32,
     32,
     {4, 4, 4},
     {3, 3, 3},
     1,
     {1, 1, 1},
     {1, 1, 1, 1, 1, 1}},
    {"smallVolume", 1, 2, 2, {3, 2, 3}, {2, 2, 2}},
};

struct Shapes {
  Shape x, w, y;
};

// Of images, and of filters.
struct Layout {
  std::string name;
  bool last, filtersLast = false;
};

Shape image(int64_t n, int64_t c, const Shape &sizes, bool last) {
  Shape shape = {n};
  shape.insert(shape.end(), sizes.begin(), sizes.end());
  shape.insert(last ? shape.end() : shape.begin() + 1, c);
  return shape;
}

Shapes shapesOf(const ConvGeometry &g, const Layout &layout) {
  const size_t dims = g.in.size();
  Shape out;
  for (size_t d = 0; d < dims; ++d)
    out.push_back((g.in[d] + g.pads[d] + g.pads[dims + d] -
                   (g.dilations[d] * (g.kernel[d] - 1) + 1)) /
                      g.strides[d] +
                  1);
  return {image(g.n, g.c, g.in, layout.last),
          image(g.o, g.c / g.group, g.kernel, layout.filtersLast),
          image(g.n, g.o, out, layout.last)};
}

Attributes attributesOf(const ConvGeometry &g, const Layout &layout) {
  return {{"dilations", g.dilations},
          {"filters_last", int64_t(layout.filtersLast)},
          {"group", g.group},
          {"layout", std::string(layout.last ? "nhwc" : "nchw")},
          {"pads", g.pads},
          {"strides", g.strides}};
}

Case forwardCase(const ConvGeometry &g, const Layout &layout) {
  const Shapes s = shapesOf(g, layout);
  return {"conv", attributesOf(g, layout), {{s.x}, {s.w}}, {{s.y}}};
}

// What follows the scratch that the command reserved stays as it is.
void expectStaysInScratch(const Case &c, plan::DType type) {
  constexpr size_t kBehind = 1 << 16;
  auto inputs = makeInputs(c, type), outputs = makeOutputs(c, type);
  CpuDevice exact(1), roomy(1);
  const plan::Command command = makeCommand(c.kind, c.attributes);
  const CommandSpec spec = specOf(command, inputs, outputs);
  ASSERT_TRUE(exact.bind(spec).ok());
  const uint64_t bytes = exact.workspace().bytes();
  ASSERT_TRUE(roomy.workspace().reserve(bytes + kBehind).ok());
  std::memset(roomy.workspace().data() + bytes, 0x5a, kBehind);
  ASSERT_TRUE(tryRun(roomy, c.kind, c.attributes, inputs, outputs).ok());
  for (size_t i = 0; i < kBehind; ++i)
    ASSERT_EQ(roomy.workspace().data()[bytes + i], std::byte(0x5a))
        << c.kind << " wrote " << i << " bytes behind its scratch";
}

// The three products of a convolution.
std::vector<Case> casesOf(const ConvGeometry &g, const Layout &layout) {
  const Shapes s = shapesOf(g, layout);
  const Attributes attributes = attributesOf(g, layout);
  return {forwardCase(g, layout),
          {"conv_backward_data", attributes, {{s.y}, {s.w}}, {{s.x}}},
          {"conv_backward_filter", attributes, {{s.x}, {s.y}}, {{s.w}}}};
}

class ConvTest
    : public testing::TestWithParam<std::tuple<ConvGeometry, Layout>> {
protected:
  const ConvGeometry &g = std::get<0>(GetParam());
  const Layout layout = std::get<1>(GetParam());
  const Shapes s = shapesOf(g, layout);
};

TEST_P(ConvTest, ForwardConforms) { expectConforms(forwardCase(g, layout)); }

TEST_P(ConvTest, ForwardWithBiasConforms) {
  Case c = forwardCase(g, layout);
  c.inputs.push_back({{g.o}});
  c.attributes["has_bias"] = int64_t(1);
  expectConforms(c);
}

TEST_P(ConvTest, BackwardDataConforms) {
  expectConforms(
      {"conv_backward_data", attributesOf(g, layout), {{s.y}, {s.w}}, {{s.x}}});
}

TEST_P(ConvTest, BackwardFilterConforms) {
  expectConforms({"conv_backward_filter",
                  attributesOf(g, layout),
                  {{s.x}, {s.y}},
                  {{s.w}}});
}

// Mixed precision: the weights' gradient in f32 from bf16 tensors.
TEST_P(ConvTest, BackwardFilterIntoF32Conforms) {
  expectConforms({"conv_backward_filter",
                  attributesOf(g, layout),
                  {{s.x}, {s.y}},
                  {{s.w, plan::F32}}},
                 2e-6, 2e-6);
}

TEST_P(ConvTest, StaysInItsScratch) {
  for (const Case &c : casesOf(g, layout))
    expectStaysInScratch(c, plan::F32);
}

TEST_P(ConvTest, BackwardIsTheGradient) {
  if (count(s.x) > 600 || count(s.w) > 600)
    GTEST_SKIP() << "finite differences on the small shapes only";
  const auto dy = randomValues(count(s.y), 9);
  const auto x = randomValues(count(s.x), 1), w = randomValues(count(s.w), 2);
  const auto dx = run({"conv_backward_data",
                       attributesOf(g, layout),
                       {{s.y, {}, dy}, {s.w, {}, w}},
                       {{s.x}}},
                      plan::F64, 1);
  expectIsGradient(forwardCase(g, layout), 0, 0, dy, dx[0].values());
  const auto dw = run({"conv_backward_filter",
                       attributesOf(g, layout),
                       {{s.x, {}, x}, {s.y, {}, dy}},
                       {{s.w}}},
                      plan::F64, 1);
  expectIsGradient(forwardCase(g, layout), 1, 0, dy, dw[0].values());
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, ConvTest,
    testing::Combine(testing::ValuesIn(kConvGeometries),
                     testing::Values(Layout{"nchw", false},
                                     Layout{"nhwc", true},
                                     Layout{"ohwi", true, true})),
    [](const auto &info) {
      return std::get<0>(info.param).name + "_" + std::get<1>(info.param).name;
    });

// oneDNN's 1x1 convolutions with strides did not, of few channels.
TEST(Conv, StaysInItsScratch) {
  for (const int64_t channels : {1, 3, 5, 24, 32})
    for (const Shape &in : {Shape{64, 64}, Shape{9, 7}, Shape{33}}) {
      const ConvGeometry g{
          "", 2, channels, 16, in, Shape(in.size(), 1), 1, Shape(in.size(), 2)};
      for (const Case &c : casesOf(g, {"nhwc", true}))
        for (const plan::DType type : {plan::F32, plan::BF16}) {
          expectStaysInScratch(c, type);
          expectConforms(c);
        }
    }
}

// Ranks that contradict each other are errors, not reads outside.
TEST(Conv, RanksMustAgree) {
  CpuDevice device(1);
  const Case cases[] = {
      {"conv", {}, {{{1, 1, 3}}, {{1, 1, 2, 2}}}, {{{1, 1, 2}}}},
      {"conv", {}, {{{1, 1, 3, 3}}, {{1, 1, 2, 2}}}, {{{1, 1, 2, 2, 1}}}},
      {"conv", {}, {{{1, 3}}, {{1, 3}}}, {{{1, 1}}}},
      {"conv",
       {{"strides", Shape{1, 1}}},
       {{{1, 1, 3, 3, 3}}, {{1, 1, 2, 2, 2}}},
       {{{1, 1, 2, 2, 2}}}}};
  for (const Case &c : cases) {
    auto inputs = makeInputs(c, plan::F32), outputs = makeOutputs(c, plan::F32);
    EXPECT_FALSE(tryRun(device, c.kind, c.attributes, inputs, outputs).ok());
  }
}

// The reference itself, against a product worked out by hand.
TEST(Conv, ReferenceIsRight) {
  const auto y = run({"conv",
                      {{"has_bias", int64_t(1)}, {"pads", Shape{0, 1, 0, 0}}},
                      {{{1, 1, 2, 2}, {}, {1, 2, 3, 4}},
                       {{1, 1, 1, 2}, {}, {10, 1}},
                       {{1}, {}, {100}}},
                      {{{1, 1, 2, 2}}}},
                     plan::F64, 1);
  EXPECT_EQ(y[0].values(), (std::vector<double>{101, 112, 103, 134}));
}

} // namespace
} // namespace dlc::test
