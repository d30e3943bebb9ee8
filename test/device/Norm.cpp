// SPDX-License-Identifier: Apache-2.0
// Norms as one call and their gradients against plain loops.
#include "Fixture.h"

#include <algorithm>

namespace dlc::test {
namespace {

constexpr plan::DType kNormTypes[] = {plan::F32, plan::BF16, plan::F16};
constexpr double kEpsilon = 1e-5;

struct NormCase {
  std::string name;
  Shape x;               // images channels last, or rows
  int64_t axis = 0;      // of a layer norm: where its rows begin; 0: images
  bool relu = false;     // behind the norm
  bool residual = false; // added before the ReLU

  bool isLayer() const { return axis > 0; }
  Shape parameters() const {
    return isLayer() ? Shape(x.begin() + axis, x.end()) : Shape{x.back()};
  }
  int64_t width() const { return count(parameters()); }
  // What has a mean of its own: a row or a channel.
  Shape statistics() const {
    if (!isLayer())
      return parameters();
    Shape shape = x;
    std::fill(shape.begin() + axis, shape.end(), 1);
    return shape;
  }
  int64_t channel(int64_t i) const { return i % width(); }
  int64_t group(int64_t i) const {
    return isLayer() ? i / width() : channel(i);
  }
};

struct NormValues {
  std::vector<double> x, scale, bias, residual, dy; // taken
  std::vector<double> y = {}, mean = {}, rstd = {}, dx = {}, dscale = {},
                      dbias = {};
};

NormValues valuesOf(const NormCase &c) {
  const int64_t size = count(c.x);
  NormValues v{.x = randomValues(size, 1),
               .scale = randomValues(c.width(), 2),
               .bias = randomValues(c.width(), 3),
               .residual = randomValues(size, 4),
               .dy = randomValues(size, 5)};
  const auto at = [](std::vector<double> &values, int64_t i) -> double & {
    return values[static_cast<size_t>(i)];
  };
  const auto groups = static_cast<size_t>(count(c.statistics()));
  const double each =
      static_cast<double>(size) / static_cast<double>(count(c.statistics()));
  v.mean.resize(groups);
  v.rstd.resize(groups);
  for (int64_t i = 0; i < size; ++i)
    at(v.mean, c.group(i)) += at(v.x, i) / each;
  for (int64_t i = 0; i < size; ++i)
    at(v.rstd, c.group(i)) +=
        std::pow(at(v.x, i) - at(v.mean, c.group(i)), 2) / each;
  for (double &value : v.rstd)
    value = 1 / std::sqrt(value + kEpsilon);

  // The gradient behind the ReLU; it is that of a norm without a residual.
  std::vector<double> masked = v.dy;
  std::vector<double> normal(v.x.size()), sum(groups), product(groups);
  v.y.resize(v.x.size());
  v.dscale.resize(static_cast<size_t>(c.width()));
  v.dbias.resize(static_cast<size_t>(c.width()));
  for (int64_t i = 0; i < size; ++i) {
    const int64_t g = c.group(i), k = c.channel(i);
    at(normal, i) = (at(v.x, i) - at(v.mean, g)) * at(v.rstd, g);
    const double norm = at(normal, i) * at(v.scale, k) + at(v.bias, k);
    at(v.y, i) = norm + (c.residual ? at(v.residual, i) : 0);
    if (c.relu) {
      at(v.y, i) = std::max(at(v.y, i), 0.0);
      if (std::abs(norm) < 0.02) // rounding must not decide
        at(v.dy, i) = 0;
      at(masked, i) = norm > 0 ? at(v.dy, i) : 0;
    }
    at(v.dscale, k) += at(masked, i) * at(normal, i);
    at(v.dbias, k) += at(masked, i);
    at(sum, g) += at(masked, i) * at(v.scale, k) / each;
    at(product, g) += at(masked, i) * at(v.scale, k) * at(normal, i) / each;
  }
  v.dx.resize(v.x.size());
  for (int64_t i = 0; i < size; ++i) {
    const int64_t g = c.group(i), k = c.channel(i);
    at(v.dx, i) = at(v.rstd, g) * (at(masked, i) * at(v.scale, k) - at(sum, g) -
                                   at(normal, i) * at(product, g));
  }
  return v;
}

Case forward(const NormCase &n, const NormValues &v) {
  Case c{n.isLayer() ? "fused_layer_norm" : "fused_batch_norm",
         {{"epsilon", kEpsilon}},
         {{n.x, {}, v.x},
          {n.parameters(), plan::F32, v.scale},
          {n.parameters(), plan::F32, v.bias}},
         {{n.x}, {n.statistics(), plan::F32}, {n.statistics(), plan::F32}}};
  if (n.isLayer())
    c.attributes["axis"] = n.axis;
  if (n.residual)
    c.inputs.push_back({n.x, {}, v.residual});
  c.attributes["has_residual"] = int64_t(n.residual);
  c.attributes["relu"] = int64_t(n.relu);
  return c;
}

Case backward(const NormCase &n, const NormValues &v) {
  Case c{n.isLayer() ? "fused_layer_norm_backward"
                     : "fused_batch_norm_backward",
         {{"has_bias", int64_t(n.relu)}},
         {{n.x, {}, v.dy},
          {n.x, {}, v.x},
          {n.parameters(), plan::F32, v.scale},
          {n.statistics(), plan::F32, v.mean},
          {n.statistics(), plan::F32, v.rstd}},
         {{n.x}, {n.parameters(), plan::F32}, {n.parameters(), plan::F32}}};
  if (n.isLayer())
    c.attributes["axis"] = n.axis;
  if (n.relu)
    c.inputs.push_back({n.parameters(), plan::F32, v.bias});
  return c;
}

class NormTest : public testing::TestWithParam<NormCase> {
protected:
  // Relative to the largest.
  void expectAll(const Case &c,
                 const std::vector<std::vector<double> NormValues::*> &names,
                 const NormValues &v) {
    for (plan::DType type : kNormTypes) {
      const auto found = runJudged(c, type, 2);
      if (!found)
        continue;
      for (size_t i = 0; i < names.size(); ++i) {
        const std::vector<double> &truth = v.*names[i];
        Tensor wide(plan::F64, {static_cast<int64_t>(truth.size())}, truth);
        const double tolerance = i > 0 || type == plan::F32 ? 1e-5 * kSlack
                                 : type == plan::F16        ? 1e-3
                                                            : 8e-3;
        EXPECT_LE(relativeError((*found)[i], wide), tolerance)
            << "output " << i << " in " << plan::DType_Name(type);
      }
    }
  }
};

TEST_P(NormTest, Conforms) {
  const NormValues v = valuesOf(GetParam());
  expectAll(forward(GetParam(), v),
            {&NormValues::y, &NormValues::mean, &NormValues::rstd}, v);
}

class NormGradientTest : public NormTest {};

TEST_P(NormGradientTest, Conforms) {
  const NormValues v = valuesOf(GetParam());
  expectAll(backward(GetParam(), v),
            {&NormValues::dx, &NormValues::dscale, &NormValues::dbias}, v);
}

std::vector<NormCase> allCases() {
  return {
      NormCase{.name = "Batch", .x = {2, 4, 4, 8}},
      NormCase{.name = "BatchWide", .x = {8, 7, 7, 512}},
      NormCase{.name = "BatchOddImages", .x = {3, 5, 3, 24}},
      NormCase{.name = "BatchOneImage", .x = {1, 9, 9, 16}},
      NormCase{.name = "BatchRelu", .x = {4, 6, 6, 64}, .relu = true},
      NormCase{.name = "BatchReluOddImages", .x = {3, 7, 5, 40}, .relu = true},
      NormCase{.name = "BatchSum", .x = {4, 6, 6, 64}, .residual = true},
      NormCase{.name = "BatchSumRelu",
               .x = {3, 7, 5, 40},
               .relu = true,
               .residual = true},
      NormCase{.name = "Layer", .x = {4, 16, 64}, .axis = 2},
      NormCase{.name = "LayerOddRows", .x = {3, 5, 56}, .axis = 2},
      NormCase{.name = "LayerWide", .x = {8, 768}, .axis = 1},
      NormCase{.name = "LayerOfTwoAxes", .x = {2, 3, 4, 8}, .axis = 2}};
}

// The gradient behind a sum is made by kernels.
std::vector<NormCase> differentiated() {
  std::vector<NormCase> cases = allCases();
  std::erase_if(cases, [](const NormCase &c) { return c.residual; });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Shapes, NormTest, testing::ValuesIn(allCases()),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Shapes, NormGradientTest,
                         testing::ValuesIn(differentiated()), nameOf);

} // namespace
} // namespace dlc::test
