// Values at places that the model computes: grids, regions of interest; and
// determinants.
#include "compiler/import/rows/Build.h"
#include "onnx-ml.pb.h"

using namespace mlir;

namespace dlc::import {
namespace {

Expr floorOf(Expr x) { return x.make<ir::FloorOp>(x.v); }

/// 0 ... size - 1 along `axis` of `rank` dimensions.
Expr ramp(const Node &n, int64_t rank, int64_t axis, int64_t size,
          Type element) {
  Shape shape(rank, 1);
  shape[axis] = size;
  return iota(n, shape, axis).cast(element);
}

struct Grid {
  std::string mode, padding;
  bool align;
};

/// An index of any size as one of the dimension, and whether it was one.
struct Tap {
  Expr index, weight;
};

/// Brings floats that are whole numbers into the dimension.
Expr inDimension(const Grid &g, Expr at, int64_t size) {
  if (g.padding == "reflection") {
    const double period = g.align ? 2 * (size - 1) : 2 * size;
    if (period == 0)
      return at * 0.0;
    Expr phase = at - floorOf(at / period) * period;
    Expr back = (g.align ? period : period - 1) - phase;
    at = select(compare(ir::Predicate::lt, phase, phase.scalar(size)), phase,
                back);
  }
  return minimum(maximum(at, at.scalar(0)), at.scalar(size - 1));
}

/// The elements along one dimension that count for coordinate x, of floats.
std::vector<Tap> tapsOf(const Grid &g, Expr x, int64_t size) {
  std::vector<std::pair<Expr, Expr>> places;
  Expr low = floorOf(x), t = x - low;
  if (g.mode == "nearest") {
    Expr near = x.make<ir::RoundOp>(x.v);
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
      weight = select(inside(at, size), weight, weight.scalar(0));
    // Coordinates that are no numbers must not become addresses.
    Expr index = inDimension(g, at, size).cast(at.b->getI64Type());
    index = minimum(maximum(index, index.scalar(0)), index.scalar(size - 1));
    taps.push_back({index, weight});
  }
  return taps;
}

FailureOr<Grid> gridOf(const Node &n) {
  Grid g{n.text("mode", n.opset < 20 ? "bilinear" : "linear"),
         n.text("padding_mode", "zeros"), n.integer("align_corners", 0) != 0};
  if (g.mode == "bilinear")
    g.mode = "linear";
  if (g.mode == "bicubic")
    g.mode = "cubic";
  if (g.mode != "linear" && g.mode != "nearest" && g.mode != "cubic")
    return n.fail() << "mode '" << g.mode << "' is not supported, expected "
                    << "linear, nearest or cubic";
  if (g.padding != "zeros" && g.padding != "border" &&
      g.padding != "reflection")
    return n.fail() << "padding_mode '" << g.padding
                    << "' is not supported, expected zeros, border or "
                       "reflection";
  return g;
}

/// X [N, C, D...], grid [N, E..., dims of D]; the grid's last number is that of
/// the first dimension.
LogicalResult gridSample(const Node &n) {
  auto x = input(n, 0), grid = input(n, 1);
  auto form = gridOf(n);
  if (failed(x) || failed(grid) || failed(form))
    return failure();
  const Shape shape = shapeOf(*x), at = shapeOf(*grid);
  const int64_t dims = int64_t(shape.size()) - 2;
  if (dims < 1 || dims > 3 || at.size() != shape.size() || at[0] != shape[0] ||
      at.back() != dims || sizeOf(shape) == 0)
    return n.fail() << "a grid of shape " << toString(at)
                    << " does not fit to an input of shape " << toString(shape);
  const int64_t batch = shape[0], channels = shape[1],
                points = sizeOf(at) / std::max<int64_t>(batch * dims, 1),
                pixels = sizeOf(shape) / (batch * channels);
  if (failed(checkFits(n, {batch, points, channels}, "the result")))
    return failure();
  Expr rows = transposed(x->reshape({batch, channels, pixels}), {0, 2, 1})
                  .reshape({batch * pixels, channels});
  Expr flat = ir::wide(*grid).reshape({batch, points, dims});
  std::vector<Tap> taps{
      {iota(n, {batch, points}, 0) * double(pixels),
       filled(n, {batch, points}, flat.type().getElementType(), 1)}};
  int64_t stride = pixels;
  for (int64_t d = 0; d < dims; ++d) {
    const int64_t size = shape[2 + d];
    stride /= size;
    Expr c = squeezed(part(flat, 2, dims - 1 - d, 1), 2);
    c = form->align ? (c + 1.0) * (double(size - 1) / 2)
                    : ((c + 1.0) * double(size) - 1.0) * 0.5;
    std::vector<Tap> all;
    for (const Tap &tap : tapsOf(*form, c, size))
      for (const Tap &before : taps)
        all.push_back({before.index + tap.index * double(stride),
                       before.weight * tap.weight});
    taps = std::move(all);
  }
  std::optional<Expr> sum;
  for (const Tap &tap : taps) {
    Expr value = gathered(rows, tap.index, 0);
    Expr part =
        value * unsqueezed(tap.weight, 2).cast(value.type().getElementType());
    sum = sum ? *sum + part : part;
  }
  Shape result{batch, channels};
  result.insert(result.end(), at.begin() + 1, at.end() - 1);
  return n.result(transposed(*sum, {0, 2, 1}).reshape(result));
}

/// theta [N, dims, dims + 1] times (x, y, ..., 1) of each place of a grid.
LogicalResult affineGrid(const Node &n) {
  auto theta = input(n, 0);
  auto size = n.integers(1, "the size");
  if (failed(theta) || failed(size))
    return failure();
  const int64_t dims = int64_t(size->size()) - 2;
  if (dims < 2 || dims > 3 ||
      shapeOf(*theta) != Shape{(*size)[0], dims, dims + 1})
    return n.fail() << "theta of shape " << toString(shapeOf(*theta))
                    << " does not fit to size " << toString(*size);
  Shape result{(*size)[0]};
  result.insert(result.end(), size->begin() + 2, size->end());
  result.push_back(dims);
  if (failed(checkFits(n, result, "the grid")))
    return failure();
  const bool align = n.integer("align_corners", 0) != 0;
  const Type element = theta->type().getElementType();
  auto column = [&](int64_t j) {
    Shape shape(dims + 2, 1);
    shape[0] = (*size)[0];
    shape.back() = dims;
    return part(*theta, 2, j, 1).reshape(shape);
  };
  Expr y = column(dims);
  for (int64_t d = 0; d < dims; ++d) {
    const double count = double((*size)[2 + d]);
    Expr at = ramp(n, dims + 2, 1 + d, (*size)[2 + d], element);
    at = align ? (count > 1 ? at * (2 / (count - 1)) - 1.0 : at)
               : (at * 2.0 + 1.0) / count - 1.0;
    y = y + at * column(dims - 1 - d);
  }
  return n.result(y.broadcast(result));
}

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
    return n.fail() << "regions of shape " << toString(rois)
                    << " for results of " << height << " x " << width
                    << " do not fit to an input of shape " << toString(x);
  return checkFits(
      n, {rois[0], x[1], std::max(x[2], height), std::max(x[3], width)},
      "the regions' copies of the input", int64_t(1) << 31);
}

/// [R, count, size]: how much each element counts for each of `count` bins, the
/// mean of `samples` tents in each.
Expr tents(const Node &n, Expr start, Expr bin, int64_t count, int64_t samples,
           int64_t size) {
  const Type element = start.type().getElementType();
  auto dims4 = [](Expr x) { return x.reshape({x.shape()[0], 1, 1, 1}); };
  Expr at =
      dims4(start) +
      dims4(bin) * (ramp(n, 4, 1, count, element) +
                    (ramp(n, 4, 2, samples, element) + 0.5) / double(samples));
  Expr counts = both(compare(ir::Predicate::ge, at, at.scalar(-1)),
                     compare(ir::Predicate::le, at, at.scalar(size)));
  at = minimum(maximum(at, at.scalar(0)), at.scalar(size - 1));
  Expr tent = 1.0 - abs(at - ramp(n, 4, 3, size, element));
  tent = select(counts, maximum(tent, tent.scalar(0)), tent.scalar(0));
  const int64_t axis[] = {2};
  return tent.mean(axis);
}

LogicalResult roiAlign(const Node &n) {
  auto x = input(n, 0), corners = input(n, 1), batch = input(n, 2);
  if (failed(x) || failed(corners) || failed(batch))
    return failure();
  const Rois r{*x, *batch, *corners};
  const int64_t height = n.integer("output_height", 1),
                width = n.integer("output_width", 1),
                samples = n.integer("sampling_ratio", 0);
  if (failed(checkRois(n, r, height, width)))
    return failure();
  if (n.text("mode", "avg") != "avg")
    return n.fail() << "mode '" << n.text("mode", "avg")
                    << "' is not supported, expected avg";
  if (samples < 1 || samples > 64)
    return n.fail() << "sampling_ratio " << samples
                    << " is not supported, expected 1 to 64: as many samples "
                       "as a region is large are known only when it runs";
  const bool half =
      n.text("coordinate_transformation_mode",
             n.opset < 16 ? "output_half_pixel" : "half_pixel") == "half_pixel";
  const double scale = n.number("spatial_scale", 1), offset = half ? 0.5 : 0;
  auto weights = [&](int64_t first, int64_t count, int64_t size) {
    Expr start = r.corner(first) * scale - offset,
         extent = r.corner(first + 2) * scale - offset - start;
    if (!half)
      extent = maximum(extent, extent.scalar(1));
    return tents(n, start, extent / double(count), count, samples, size);
  };
  const Shape s = shapeOf(*x);
  Expr wy = unsqueezed(weights(1, height, s[2]), 1),
       wx = unsqueezed(weights(0, width, s[3]), 1);
  Expr image = gathered(*x, batch->cast(n.b.getI64Type()), 0);
  Expr rows = image.make<ir::MatmulOp>(wy.v, image.v, Value(), false, false,
                                       StringAttr());
  return n.result(rows.make<ir::MatmulOp>(rows.v, wx.v, Value(), false, true,
                                          StringAttr()));
}

/// The maximum of x along its last axis where `mask` is; 0 where it is nowhere.
Expr maskedMax(Expr mask, Expr x) {
  const int64_t axis[] = {std::max(x.rank(), mask.rank()) - 1};
  return select(mask, x, x.scalar(-INFINITY)).max(axis);
}

/// [R, 1, 1, count, size]: the elements of each bin of a region from the
/// rounded start to the rounded end.
Expr bins(const Node &n, Expr first, Expr last, int64_t count, int64_t size) {
  const Type element = first.type().getElementType();
  auto dims = [](Expr x) { return x.reshape({x.shape()[0], 1, 1, 1, 1}); };
  Expr start = dims(first), extent = dims(last) - start + 1.0;
  extent = maximum(extent, extent.scalar(1));
  Expr bin = ramp(n, 5, 3, count, element), at = ramp(n, 5, 4, size, element);
  Expr low = floorOf(bin * extent / double(count)) + start;
  Expr high = -floorOf(-((bin + 1.0) * extent / double(count))) + start;
  return both(compare(ir::Predicate::ge, at, low),
              compare(ir::Predicate::lt, at, high));
}

LogicalResult maxRoiPool(const Node &n) {
  auto x = input(n, 0), rois = input(n, 1);
  if (failed(x) || failed(rois))
    return failure();
  const std::vector<int64_t> pooled = n.integers("pooled_shape");
  if (pooled.size() != 2 || rois->rank() != 2 || rois->shape()[1] != 5)
    return n.fail() << "regions of shape " << toString(shapeOf(*rois))
                    << " and pooled_shape " << toString(pooled)
                    << " are not supported, expected 5 numbers a region and 2 "
                       "sizes";
  const Rois r{*x, squeezed(part(*rois, 1, 0, 1), 1).cast(n.b.getI64Type()),
               part(*rois, 1, 1, 4)};
  if (failed(checkRois(n, r, pooled[0], pooled[1])))
    return failure();
  const double scale = n.number("spatial_scale", 1);
  auto rounded = [&](int64_t i) { // half away from 0, of what is not below it
    return floorOf(r.corner(i) * scale + 0.5);
  };
  const Shape s = shapeOf(*x);
  Expr columns = bins(n, rounded(0), rounded(2), pooled[1], s[3]),
       lines = bins(n, rounded(1), rounded(3), pooled[0], s[2]);
  Expr image = gathered(*x, r.batch, 0);
  Expr across = maskedMax(columns, unsqueezed(image, 3)); // [R, C, H, pw]
  Expr down = maskedMax(lines, unsqueezed(transposed(across, {0, 1, 3, 2}), 3));
  Expr empty = compare(ir::Predicate::eq, down, down.scalar(-INFINITY));
  return n.result(
      transposed(select(empty, down.scalar(0), down), {0, 1, 3, 2}));
}

/// By minors of the first rows, a set of columns each.
LogicalResult determinant(const Node &n) {
  auto x = input(n, 0);
  if (failed(x))
    return failure();
  const Shape shape = shapeOf(*x);
  constexpr int64_t kLargest = 6;
  if (shape.size() < 2 || shape.back() != shape.end()[-2] || shape.back() < 1 ||
      shape.back() > kLargest)
    return n.fail() << "a determinant of shape " << toString(shape)
                    << " is not supported, expected square matrices of at most "
                    << kLargest << " rows";
  const int64_t size = shape.back(), rank = shape.size();
  auto element = [&](int64_t i, int64_t j) {
    Expr row = part(*x, rank - 2, i, 1);
    return squeezed(squeezed(part(row, rank - 1, j, 1), rank - 1), rank - 2);
  };
  std::map<unsigned, Expr> minors;
  for (int64_t j = 0; j < size; ++j)
    minors.emplace(1u << j, element(0, j));
  for (int64_t i = 1; i < size; ++i) {
    std::map<unsigned, Expr> larger;
    for (unsigned columns = 1; columns < (1u << size); ++columns) {
      if (llvm::popcount(columns) != i + 1)
        continue;
      std::optional<Expr> sum;
      int64_t sign = i % 2 ? -1 : 1;
      for (int64_t j = 0; j < size; ++j) {
        if (!(columns >> j & 1))
          continue;
        Expr term = element(i, j) * minors.at(columns & ~(1u << j));
        sum = !sum ? (sign < 0 ? -term : term)
                   : (sign < 0 ? *sum - term : *sum + term);
        sign = -sign;
      }
      larger.emplace(columns, *sum);
    }
    minors = std::move(larger);
  }
  return n.result(minors.begin()->second);
}

/// What folds where its input is known, and otherwise has no shape.
LogicalResult unknownSize(const Node &n, const char *what) {
  return n.fail() << n.proto.op_type() << " is not supported here: " << what
                  << " is known only when the model runs, and a program's "
                     "shapes are fixed when it is compiled";
}

} // namespace

void addSampleRows(Rows &rows) {
  rows["GridSample"] = gridSample;
  rows["AffineGrid"] = affineGrid;
  rows["RoiAlign"] = roiAlign;
  rows["MaxRoiPool"] = maxRoiPool;
  rows["Det"] = determinant;
  rows["NonZero"] = [](const Node &n) {
    return unknownSize(n, "how many elements are not 0");
  };
  rows["Unique"] = [](const Node &n) {
    return unknownSize(n, "how many elements differ");
  };
  rows["NonMaxSuppression"] = [](const Node &n) {
    return unknownSize(n, "how many boxes are kept");
  };
}

} // namespace dlc::import
