// SPDX-License-Identifier: Apache-2.0
// Deformable convolutions: each tap reads at an offset that the model computes.
#include "compiler/import/rows/image/Sample.h"
#include "compiler/import/rows/image/Window.h"
#include "onnx-ml.pb.h"

using namespace mlir;

namespace dlc::import {
namespace {

/// Shapes of x [N, C, D...], of the result [N, O, E...] and of the window
/// [K...].
struct Deform {
  Shape x, w, out; // out: E...
  int64_t group, offsets;
  Window window;

  int64_t dims() const { return int64_t(out.size()); }
  int64_t pixels() const { return sizeOf(Shape(x.begin() + 2, x.end())); }
  int64_t taps() const { return window.sizes().taps(); }
  int64_t points() const { return sizeOf(out); }
};

FailureOr<Deform> deformOf(const Node &n, const Shape &x, const Shape &w) {
  Deform d{x, w, {}, n.integer("group", 1), n.integer("offset_group", 1), {}};
  DLC_CHECK(checkImage(n, x));
  if (w.size() != x.size() || d.group < 1 || d.offsets < 1 ||
      x[1] % d.group != 0 || x[1] % d.offsets != 0 || w[0] % d.group != 0 ||
      w[1] != x[1] / d.group)
    return n.fail("weights of shape {} in {} groups and {} groups of offsets "
                  "do not fit to an input of shape {}",
                  w, d.group, d.offsets, x);
  DLC_GET(auto window, windowOfWeights(n, x, w));
  d.window = std::move(window);
  for (size_t i = 0; i + 2 < x.size(); ++i)
    d.out.push_back(d.window.along(i).outputs(x[2 + i]));
  if (llvm::any_of(d.out, [](int64_t size) { return size < 1; }))
    return n.fail("a window of {} does not fit into an input of shape {}",
                  d.window.kernel, x);
  return d;
}

/// Reshapes input `i` from [N, offsets * taps * each, E...] to [N, offsets,
/// taps, each, points].
FailureOr<Expr> perTap(const Node &n, const Deform &d, size_t i, int64_t each) {
  DLC_GET(auto given, input(n, i));
  Shape expected{d.x[0], d.offsets * d.taps() * each};
  expected.insert(expected.end(), d.out.begin(), d.out.end());
  if (shapeOf(given) != expected)
    return n.fail("input {} has shape {}, expected {}", i, shapeOf(given),
                  expected);
  return given.reshape({d.x[0], d.offsets, d.taps(), each, d.points()});
}

/// Coordinates of the taps without offsets along dimension `at` of the input:
/// [1, 1, taps, points].
Expr regularPlaces(const Node &n, const Deform &d, int64_t at, Type element) {
  Sliding along = d.window.along(at);
  const Shape &kernel = d.window.kernel;
  const int64_t dims = d.dims();
  Shape grid{1, 1};
  grid.insert(grid.end(), kernel.begin(), kernel.end());
  grid.insert(grid.end(), d.out.begin(), d.out.end());
  Expr tap = ramp(n, 2 + 2 * dims, 2 + at, kernel[at], element),
       out = ramp(n, 2 + 2 * dims, 2 + dims + at, d.out[at], element);
  Expr place = out * double(along.stride) + tap * double(along.dilation) -
               double(along.low);
  return place.broadcast(grid).reshape({1, 1, d.taps(), d.points()});
}

/// x sampled at each tap, [N, offsets, taps, points, C / offsets].
FailureOr<Expr> columns(const Node &n, const Deform &d, Expr x, Expr offset) {
  const int64_t batch = d.x[0], channels = d.x[1] / d.offsets;
  const Shape at{batch, d.offsets, d.taps(), d.points()};
  DLC_CHECK(checkFits(n, {sizeOf(at), channels}, "the windows' elements"));
  Expr rows = transposed(x.reshape({batch, d.offsets, channels, d.pixels()}),
                         {0, 1, 3, 2})
                  .reshape({batch * d.offsets * d.pixels(), channels});
  const Type element = offset.element();
  std::vector<Tap> taps{{(iota(n, at, 0) * double(d.offsets) + iota(n, at, 1)) *
                             double(d.pixels()),
                         filled(n, at, element, 1)}};
  int64_t stride = d.pixels();
  for (int64_t i = 0; i < d.dims(); ++i) {
    stride /= d.x[2 + i];
    Expr place = sliceOf(offset, 3, i) + regularPlaces(n, d, i, element);
    taps = combined(taps, tapsOf({"linear", "zeros", true}, place, d.x[2 + i]),
                    stride);
  }
  return sampled(rows, taps);
}

LogicalResult deformConv(const Node &n, Expr x, Expr w) {
  DLC_GET(auto d, deformOf(n, shapeOf(x), shapeOf(w)));
  DLC_GET(auto offset, perTap(n, d, 2, d.dims()));
  DLC_GET(auto read, columns(n, d, x, ir::wide(offset)));
  Expr all = read;
  if (n.has(4)) {
    DLC_GET(auto mask, perTap(n, d, 4, 1));
    all = all * transposed(mask, {0, 1, 2, 4, 3});
  }
  // [N, group, C / group * taps, points]
  const int64_t depth = d.w[1] * d.taps(), outputs = d.w[0] / d.group;
  all = transposed(all, {0, 1, 4, 2, 3})
            .reshape({d.x[0], d.group, depth, d.points()});
  Expr weights = w.reshape({1, d.group, outputs, depth});
  Shape shape{d.x[0], d.w[0]};
  shape.insert(shape.end(), d.out.begin(), d.out.end());
  return n.result(withBias(n, n.reshape(n.matmul(weights, all), shape), 3));
}

} // namespace

void addDeformRows(Rows &rows) { rows["DeformConv"] = ofInputs<deformConv>; }

} // namespace dlc::import
