#include "Fixture.h"

namespace dlc::test {
namespace {

struct Geometry {
  std::string name;
  int64_t n, c, h, w, o, kh, kw;
  int64_t group = 1;
  Shape strides = {1, 1}, pads = {0, 0, 0, 0}, dilations = {1, 1};
};

const std::vector<Geometry> kGeometries = {
    {"one", 1, 1, 1, 1, 1, 1, 1},
    {"lenet1", 3, 1, 12, 12, 6, 5, 5, 1, {1, 1}, {2, 2, 2, 2}},
    {"lenet2", 3, 6, 10, 10, 16, 5, 5},
    {"primes", 2, 7, 11, 13, 5, 3, 3, 1, {1, 1}, {1, 1, 1, 1}},
    {"rgb", 2, 3, 17, 17, 8, 7, 7, 1, {2, 2}, {3, 3, 3, 3}},
    {"pointwise", 2, 32, 7, 7, 16, 1, 1},
    {"strided1x1", 2, 16, 9, 9, 24, 1, 1, 1, {2, 2}},
    {"asymmetric", 2, 5, 9, 8, 4, 3, 2, 1, {2, 3}, {1, 0, 2, 1}},
    {"dilated", 1, 4, 13, 11, 6, 3, 3, 1, {1, 1}, {2, 2, 2, 2}, {2, 2}},
    {"groups", 2, 8, 9, 9, 12, 3, 3, 4, {1, 1}, {1, 1, 1, 1}},
    {"depthwise", 2, 19, 8, 8, 19, 3, 3, 19, {2, 2}, {1, 1, 1, 1}},
    {"wide", 1, 64, 8, 8, 64, 3, 3, 1, {1, 1}, {1, 1, 1, 1}},
    {"noImages", 0, 3, 8, 8, 4, 3, 3},
};

int64_t outputSize(int64_t in, int64_t pads, int64_t k, int64_t dilation,
                   int64_t stride) {
  return (in + pads - (dilation * (k - 1) + 1)) / stride + 1;
}

struct Shapes {
  Shape x, w, y;
};

Shapes shapesOf(const Geometry &g, const std::string &layout) {
  const int64_t h = outputSize(g.h, g.pads[0] + g.pads[2], g.kh, g.dilations[0],
                               g.strides[0]);
  const int64_t w = outputSize(g.w, g.pads[1] + g.pads[3], g.kw, g.dilations[1],
                               g.strides[1]);
  const auto image = [&](int64_t c, int64_t height, int64_t width) {
    return layout == "nhwc" ? Shape{g.n, height, width, c}
                            : Shape{g.n, c, height, width};
  };
  return {
      image(g.c, g.h, g.w), {g.o, g.c / g.group, g.kh, g.kw}, image(g.o, h, w)};
}

Attributes attributesOf(const Geometry &g, const std::string &layout) {
  return {{"dilations", g.dilations},
          {"group", g.group},
          {"layout", layout},
          {"pads", g.pads},
          {"strides", g.strides}};
}

Case forwardCase(const Geometry &g, const std::string &layout) {
  const Shapes s = shapesOf(g, layout);
  return {"conv", attributesOf(g, layout), {{s.x}, {s.w}}, {{s.y}}};
}

class ConvTest
    : public testing::TestWithParam<std::tuple<Geometry, std::string>> {
protected:
  const Geometry &g = std::get<0>(GetParam());
  const std::string layout = std::get<1>(GetParam());
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

INSTANTIATE_TEST_SUITE_P(Shapes, ConvTest,
                         testing::Combine(testing::ValuesIn(kGeometries),
                                          testing::Values("nchw", "nhwc")),
                         [](const auto &info) {
                           return std::get<0>(info.param).name + "_" +
                                  std::get<1>(info.param);
                         });

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
