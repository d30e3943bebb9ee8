// SPDX-License-Identifier: Apache-2.0
// Pooling of regions of interest, whose corners the model computes.
#include "compiler/import/rows/image/Sample.h"
#include "onnx-ml.pb.h"

using namespace mlir;

namespace dlc::import {
namespace {

struct Rois {
  Expr x;       // [N, C, H, W]
  Expr batch;   // [R]
  Expr corners; // [R, 4]: x1, y1, x2, y2
  Expr corner(int64_t i) const { return part(corners, 1, i, 1); } // [R, 1]
};

LogicalResult checkRois(const Node &n, const Rois &r, int64_t height,
                        int64_t width) {
  Shape x = shapeOf(r.x), rois = shapeOf(r.corners);
  if (x.size() != 4 || rois.size() != 2 || rois[1] != 4 ||
      shapeOf(r.batch) != Shape{rois[0]} || height < 1 || width < 1 ||
      height > (1 << 16) || width > (1 << 16) || sizeOf(x) == 0)
    return n.fail("regions of shape {} for results of {} x {} do not fit to an "
                  "input of shape {}",
                  rois, height, width, x);
  return checkFits(
      n, {rois[0], x[1], std::max(x[2], height), std::max(x[3], width)},
      "the regions' copies of the input", int64_t(1) << 31);
}

/// Interpolation weights [R, count, size] of elements for each of `count` bins:
/// the mean of `samples` tent functions per bin.
Expr tents(const Node &n, Expr start, Expr bin, int64_t count, int64_t samples,
           int64_t size) {
  const Type element = start.element();
  auto dims4 = [](Expr x) { return x.reshape({x.shape()[0], 1, 1, 1}); };
  Expr at =
      dims4(start) +
      dims4(bin) * (ramp(n, 4, 1, count, element) +
                    (ramp(n, 4, 2, samples, element) + 0.5) / double(samples));
  Expr counts = both(at >= -1, at <= size);
  at = minimum(maximum(at, 0), size - 1);
  Expr tent = 1.0 - abs(at - ramp(n, 4, 3, size, element));
  tent = select(counts, maximum(tent, 0), 0);
  return tent.mean({2});
}

/// The same with as many samples per bin as make their spacing at most 1. It is
/// then above 1/2, so at most four samples of a bin overlap an element's tent
/// of width 2, except for bins with one sample, for which the first index is
/// clamped to 0.
Expr adaptiveTents(const Node &n, Expr start, Expr bin, int64_t count,
                   int64_t size) {
  const Type element = start.element();
  constexpr int64_t kNear = 6; // two more, for rounding
  auto dims4 = [](Expr x) { return x.reshape({x.shape()[0], 1, 1, 1}); };
  Expr samples = -floor(-dims4(bin)); // [R, 1, 1, 1]
  Expr apart = dims4(bin) / maximum(samples, 1);
  Expr from = dims4(start) + dims4(bin) * ramp(n, 4, 1, count, element);
  Expr place = ramp(n, 4, 3, size, element);
  Expr least = apart.scalar(1e-6);
  Expr first = floor((place - 1.0 - from) / maximum(apart, least) - 0.5);
  first = maximum(first, 0); // [R, count, 1, size]
  Expr index = first + ramp(n, 4, 2, kNear, element);
  Expr at = from + (index + 0.5) * apart;
  Expr counts = both(index < samples, both(at >= -1, at <= size));
  at = minimum(maximum(at, 0), size - 1);
  Expr tent = 1.0 - abs(at - place);
  tent = select(counts, maximum(tent, 0), 0);
  Expr total = tent.sum({2});
  return total / maximum(squeezed(samples, 3), 1);
}

/// RoiAlign's attributes along one dimension.
struct Align {
  int64_t height, width, samples;
  double scale, offset;

  Expr start(const Rois &r, int64_t corner) const {
    return r.corner(corner) * scale - offset;
  }
  Expr bin(const Rois &r, int64_t corner, int64_t count) const {
    Expr extent = r.corner(corner + 2) * scale - offset - start(r, corner);
    if (offset == 0)
      extent = maximum(extent, 1);
    return extent / double(count);
  }
};

/// Means of each bin's samples, along columns, then rows.
Expr meansOf(const Node &n, const Rois &r, const Align &a) {
  const Shape s = shapeOf(r.x);
  auto weights = [&](int64_t corner, int64_t count, int64_t size) {
    Expr start = a.start(r, corner), bin = a.bin(r, corner, count);
    return unsqueezed(a.samples ? tents(n, start, bin, count, a.samples, size)
                                : adaptiveTents(n, start, bin, count, size),
                      1);
  };
  Expr wy = weights(1, a.height, s[2]), wx = weights(0, a.width, s[3]);
  Expr image = gathered(r.x, r.batch, 0);
  return matmul(matmul(wy, image), wx, false, true);
}

/// The two elements next to each sample along one dimension, [R, count *
/// samples] each, with weight 0 outside of the image.
std::vector<Tap> besides(const Node &n, const Align &a, Expr start, Expr bin,
                         int64_t count, int64_t size) {
  const Type element = start.element();
  Expr at = start + bin * ((ramp(n, 2, 1, count * a.samples, element) + 0.5) /
                           double(a.samples));
  Expr counts = both(at >= -1, at <= size);
  at = minimum(maximum(at, 0), size - 1);
  std::vector<Tap> taps = tapsOf({"linear", "border", true}, at, size);
  for (Tap &tap : taps)
    tap.weight = select(counts, tap.weight, 0);
  return taps;
}

/// ONNX's maximum is over weighted elements next to the samples, not over
/// interpolated values.
FailureOr<Expr> maximaOf(const Node &n, const Rois &r, const Align &a) {
  const Shape s = shapeOf(r.x);
  const int64_t count = r.batch.shape()[0], lines = a.height * a.samples,
                columns = a.width * a.samples;
  DLC_CHECK(checkFits(n, {count, lines, columns, s[1]}, "the samples",
                      int64_t(1) << 31));
  auto ys = besides(n, a, a.start(r, 1), a.bin(r, 1, a.height), a.height, s[2]),
       xs = besides(n, a, a.start(r, 0), a.bin(r, 0, a.width), a.width, s[3]);
  Expr rows = transposed(r.x, {0, 2, 3, 1}).reshape({s[0] * s[2] * s[3], s[1]});
  Expr image = (r.batch * double(s[2] * s[3])).reshape({count, 1, 1});
  std::optional<Expr> most;
  for (const Tap &y : ys)
    for (const Tap &x : xs) {
      Expr place = image + unsqueezed(y.index, 2) * double(s[3]) +
                   unsqueezed(x.index, 1);
      Expr weight = unsqueezed(y.weight, 2) * unsqueezed(x.weight, 1);
      Expr value = gathered(rows, place, 0) * unsqueezed(weight, 3);
      most = most ? maximum(*most, value) : value;
    }
  Expr bins =
      most->reshape({count, a.height, a.samples, a.width, a.samples, s[1]});
  return transposed(bins.max({2, 4}), {0, 3, 1, 2});
}

LogicalResult roiAlign(const Node &n, Expr x, Expr corners, Expr batch) {
  const Rois r{x, batch.cast(n.b.getI64Type()), corners};
  const bool half =
      n.text("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  const Align a{n.integer("output_height", 1), n.integer("output_width", 1),
                n.integer("sampling_ratio", 0), n.number("spatial_scale", 1),
                half ? 0.5 : 0};
  DLC_CHECK(checkRois(n, r, a.height, a.width));
  DLC_GET(const auto mode, n.choice("mode", "avg", {"avg", "max"}));
  if (a.samples < 0 || a.samples > 64)
    return n.fail("sampling_ratio {} is not supported, expected 0 to 64",
                  a.samples);
  if (mode == "avg")
    return n.result(meansOf(n, r, a));
  if (a.samples == 0)
    return n.fail("sampling_ratio 0 is not supported in mode max: how many "
                  "samples a bin has is known only when the model runs");
  auto maxima = maximaOf(n, r, a);
  return failed(maxima) ? failure() : n.result(*maxima);
}

/// Maximum of x along its last axis where `mask` is set; 0 if nowhere.
Expr maskedMax(Expr mask, Expr x) {
  return select(mask, x, -INFINITY).max({std::max(x.rank(), mask.rank()) - 1});
}

/// Mask [R, 1, 1, count, size] of each bin's elements, for a region from the
/// rounded start to the rounded end.
Expr bins(const Node &n, Expr first, Expr last, int64_t count, int64_t size) {
  const Type element = first.element();
  auto dims = [](Expr x) { return x.reshape({x.shape()[0], 1, 1, 1, 1}); };
  Expr start = dims(first), extent = dims(last) - start + 1.0;
  extent = maximum(extent, 1);
  Expr bin = ramp(n, 5, 3, count, element), at = ramp(n, 5, 4, size, element);
  Expr low = floor(bin * extent / double(count)) + start;
  Expr high = -floor(-((bin + 1.0) * extent / double(count))) + start;
  return both(at >= low, at < high);
}

LogicalResult maxRoiPool(const Node &n, Expr x, Expr rois) {
  const std::vector<int64_t> pooled = n.integers("pooled_shape");
  if (pooled.size() != 2 || rois.rank() != 2 || rois.shape()[1] != 5)
    return n.fail("regions of shape {} and pooled_shape {} are not supported, "
                  "expected 5 numbers a region and 2 sizes",
                  shapeOf(rois), pooled);
  const Rois r{x, sliceOf(rois, 1, 0).cast(n.b.getI64Type()),
               part(rois, 1, 1, 4)};
  DLC_CHECK(checkRois(n, r, pooled[0], pooled[1]));
  const double scale = n.number("spatial_scale", 1);
  auto rounded = [&](int64_t i) { // half away from 0, for values >= 0
    return floor(r.corner(i) * scale + 0.5);
  };
  const Shape s = shapeOf(x);
  Expr columns = bins(n, rounded(0), rounded(2), pooled[1], s[3]),
       lines = bins(n, rounded(1), rounded(3), pooled[0], s[2]);
  Expr image = gathered(x, r.batch, 0);
  Expr across = maskedMax(columns, unsqueezed(image, 3)); // [R, C, H, pw]
  Expr down = maskedMax(lines, unsqueezed(transposed(across, {0, 1, 3, 2}), 3));
  Expr empty = down == -INFINITY;
  return n.result(transposed(select(empty, 0, down), {0, 1, 3, 2}));
}

} // namespace

void addRegionRows(Rows &rows) {
  rows["RoiAlign"] = ofInputs<roiAlign>;
  rows["MaxRoiPool"] = ofInputs<maxRoiPool>;
}

} // namespace dlc::import
