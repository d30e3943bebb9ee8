// SPDX-License-Identifier: Apache-2.0
// GridSample and AffineGrid.
#include "compiler/import/rows/image/Sample.h"
#include "onnx-ml.pb.h"

using namespace mlir;

namespace dlc::import {

namespace {

/// Maps floats with integral values into the dimension, by the padding mode.
Expr inDimension(const Grid &g, Expr at, int64_t size) {
  if (g.padding == "reflection") {
    const double period = g.align ? 2 * (size - 1) : 2 * size;
    if (period == 0)
      return at * 0.0;
    Expr phase = at - floor(at / period) * period;
    Expr back = (g.align ? period : period - 1) - phase;
    at = select(phase < size, phase, back);
  }
  return minimum(maximum(at, 0), size - 1);
}

} // namespace

Expr sampled(Expr rows, const std::vector<Tap> &taps) {
  std::optional<Expr> sum;
  for (const Tap &tap : taps) {
    Expr value = gathered(rows, tap.index, 0);
    Expr weight = unsqueezed(tap.weight, int64_t(tap.weight.shape().size()))
                      .cast(value.element());
    Expr term = value * weight;
    sum = sum ? *sum + term : term;
  }
  return *sum;
}

std::vector<Tap> tapsOf(const Grid &g, Expr x, int64_t size) {
  std::vector<std::pair<Expr, Expr>> places;
  Expr low = floor(x), t = x - low;
  if (g.mode == "nearest") {
    Expr near = round(x);
    places.emplace_back(near, near * 0.0 + 1.0);
  } else if (g.mode == "linear") {
    places.emplace_back(low, 1.0 - t);
    places.emplace_back(low + 1.0, t);
  } else {
    constexpr double a = -0.75;
    auto inner = [&](Expr d) { return ((a + 2) * d - (a + 3)) * d * d + 1.0; };
    auto outer = [&](Expr d) {
      return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
    };
    places.emplace_back(low - 1.0, outer(t + 1.0));
    places.emplace_back(low, inner(t));
    places.emplace_back(low + 1.0, inner(1.0 - t));
    places.emplace_back(low + 2.0, outer(2.0 - t));
  }
  std::vector<Tap> taps;
  for (auto [at, weight] : places) {
    if (g.padding == "zeros")
      weight = select(inside(at, size), weight, 0);
    // NaN coordinates must not become indices.
    Expr index = inDimension(g, at, size).cast(at.b->getI64Type());
    index = minimum(maximum(index, 0), size - 1);
    taps.push_back({index, weight});
  }
  return taps;
}

std::vector<Tap> combined(const std::vector<Tap> &taps,
                          const std::vector<Tap> &next, int64_t stride) {
  std::vector<Tap> all;
  for (const Tap &tap : next)
    for (const Tap &before : taps)
      all.push_back({before.index + tap.index * double(stride),
                     before.weight * tap.weight});
  return all;
}

namespace {

FailureOr<Grid> gridOf(const Node &n) {
  DLC_GET(auto mode,
          n.choice("mode", "linear",
                   {"bilinear", "bicubic", "linear", "nearest", "cubic"}));
  DLC_GET(auto padding,
          n.choice("padding_mode", "zeros", {"zeros", "border", "reflection"}));
  if (mode.starts_with("bi")) // until opset 20
    mode.erase(0, 2);
  return Grid{mode, padding, n.integer("align_corners", 0) != 0};
}

/// X [N, C, D...], grid [N, E..., dims of D] in reversed order: the last number
/// is the coordinate of the first dimension.
LogicalResult gridSample(const Node &n, Expr x, Expr grid) {
  DLC_GET(auto form, gridOf(n));
  const Shape shape = shapeOf(x), at = shapeOf(grid);
  const int64_t dims = int64_t(shape.size()) - 2;
  if (dims < 1 || dims > 3 || at.size() != shape.size() || at[0] != shape[0] ||
      at.back() != dims || sizeOf(shape) == 0)
    return n.fail("a grid of shape {} does not fit to an input of shape {}", at,
                  shape);
  const int64_t batch = shape[0], channels = shape[1],
                points = sizeOf(at) / std::max<int64_t>(batch * dims, 1),
                pixels = sizeOf(shape) / (batch * channels);
  DLC_CHECK(checkFits(n, {batch, points, channels}, "the result"));
  Expr rows = transposed(x.reshape({batch, channels, pixels}), {0, 2, 1})
                  .reshape({batch * pixels, channels});
  Expr flat = ir::wide(grid).reshape({batch, points, dims});
  std::vector<Tap> taps{{iota(n, {batch, points}, 0) * double(pixels),
                         filled(n, {batch, points}, flat.element(), 1)}};
  int64_t stride = pixels;
  for (int64_t d = 0; d < dims; ++d) {
    const int64_t size = shape[2 + d];
    stride /= size;
    Expr c = sliceOf(flat, 2, dims - 1 - d);
    c = form.align ? (c + 1.0) * (double(size - 1) / 2)
                   : ((c + 1.0) * double(size) - 1.0) * 0.5;
    taps = combined(taps, tapsOf(form, c, size), stride);
  }
  Shape result{batch, channels};
  result.insert(result.end(), at.begin() + 1, at.end() - 1);
  return n.result(transposed(sampled(rows, taps), {0, 2, 1}).reshape(result));
}

/// theta [N, dims, dims + 1] times (x, y, ..., 1) at each grid position.
LogicalResult affineGrid(const Node &n, Expr theta) {
  DLC_GET(auto size, n.integers(1, "the size"));
  const int64_t dims = int64_t(size.size()) - 2;
  if (dims < 2 || dims > 3 || shapeOf(theta) != Shape{size[0], dims, dims + 1})
    return n.fail("theta of shape {} does not fit to size {}", shapeOf(theta),
                  size);
  Shape result{size[0]};
  result.insert(result.end(), size.begin() + 2, size.end());
  result.push_back(dims);
  DLC_CHECK(checkFits(n, result, "the grid"));
  const bool align = n.integer("align_corners", 0) != 0;
  const Type element = theta.element();
  auto column = [&](int64_t j) {
    Shape shape(dims + 2, 1);
    shape[0] = size[0];
    shape.back() = dims;
    return part(theta, 2, j, 1).reshape(shape);
  };
  Expr y = column(dims);
  for (int64_t d = 0; d < dims; ++d) {
    const double count = double(size[2 + d]);
    Expr at = ramp(n, dims + 2, 1 + d, size[2 + d], element);
    at = align ? (count > 1 ? at * (2 / (count - 1)) - 1.0 : at)
               : (at * 2.0 + 1.0) / count - 1.0;
    y = y + at * column(dims - 1 - d);
  }
  return n.result(y.broadcast(result));
}

} // namespace

void addSampleRows(Rows &rows) {
  rows["GridSample"] = ofInputs<gridSample>;
  rows["AffineGrid"] = ofInputs<affineGrid>;
}

} // namespace dlc::import
