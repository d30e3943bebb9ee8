// SPDX-License-Identifier: Apache-2.0
// Resize and Upsample, one axis after the other: each element is a weighted sum
// of taps that are known at import. Nearest neighbours are copies; others are a
// product with a weight matrix or, if weights repeat by an integer factor, sums
// of shifted copies.
#include "compiler/import/rows/Build.h"
#include "onnx-ml.pb.h"
#include <cmath>
#include <numeric>

using namespace mlir;

namespace dlc::import {
namespace {

/// Taps of all elements along one axis: element i has weights[i] for the
/// elements from first[i] on, clamped to the border.
struct Taps {
  std::vector<int64_t> first;
  std::vector<std::vector<double>> weights;
  std::vector<bool> outside; // use the extrapolation value
};

struct Form {
  std::string mode, coordinates, nearest;
  bool antialias = false, excludeOutside = false;
  double cubicA = -0.75, extrapolation = 0;
};

struct Axis {
  int64_t axis, from, to;
  double scale, roiStart, roiEnd;
};

double sourceOf(const Form &f, const Axis &a, int64_t i) {
  const double to = a.scale * double(a.from);
  const std::string &c = f.coordinates;
  if (c == "align_corners")
    return to == 1 ? 0 : double(i) * double(a.from - 1) / (to - 1);
  if (c == "asymmetric")
    return double(i) / a.scale;
  if (c == "tf_crop_and_resize") {
    const double span = (a.roiEnd - a.roiStart) * double(a.from - 1);
    return (to == 1 ? span / 2 : double(i) * span / (to - 1)) +
           a.roiStart * double(a.from - 1);
  }
  if (c == "pytorch_half_pixel" && to == 1)
    return -0.5;
  double x = (double(i) + 0.5) / a.scale - 0.5;
  if (c == "half_pixel_symmetric")
    x += double(a.from) / 2 * (1 - double(a.to) / to);
  return x;
}

double cubicWeight(double x, double a) {
  x = std::abs(x);
  if (x <= 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/// Interpolation weights of the neighbours at `ratio` in (0, 1] between two.
std::vector<double> weightsAt(const Form &f, double ratio, double scale) {
  if (f.mode == "nearest") {
    bool right = ratio > 0.5;
    if (f.nearest == "round_prefer_ceil")
      right = ratio >= 0.5;
    else if (f.nearest == "floor")
      right = false;
    else if (f.nearest == "ceil")
      right = true;
    right |= ratio == 1;
    return {double(!right), double(right)};
  }
  const bool isCubic = f.mode == "cubic";
  const double narrow = f.antialias ? std::min(scale, 1.0) : 1,
               reach = isCubic ? 2 : 1;
  const int64_t start = int64_t(std::floor(-reach / narrow)) + 1;
  std::vector<double> weights;
  for (int64_t i = start; i < 2 - start; ++i) {
    const double x = narrow * (double(i) - ratio);
    weights.push_back(isCubic ? cubicWeight(x, f.cubicA)
                              : std::max(0.0, 1 - std::abs(x)));
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double &w : weights)
    w = f.antialias ? w / sum : w;
  return weights;
}

/// The first of `count` neighbours of x; the smaller one of equally near ones.
int64_t firstAround(double x, int64_t count) {
  const double below = std::floor(x), rest = x - below;
  if (count % 2 == 0)
    return int64_t(below) + (rest == 0 ? -count / 2 : 1 - count / 2);
  return int64_t(below) - (count - 1) / 2 + (rest > 0.5);
}

Taps tapsOf(const Form &f, const Axis &a) {
  Taps t;
  for (int64_t i = 0; i < a.to; ++i) {
    const double x = sourceOf(f, a, i), ratio = x - std::floor(x);
    auto weights = weightsAt(f, ratio == 0 ? 1 : ratio, a.scale);
    const int64_t count = weights.size(), first = firstAround(x, count);
    double sum = 0;
    for (int64_t k = 0; k < count; ++k) {
      if (f.excludeOutside && (first + k < 0 || first + k >= a.from))
        weights[k] = 0;
      sum += weights[k];
    }
    for (double &w : weights)
      w = f.excludeOutside && sum != 0 ? w / sum : w;
    t.first.push_back(first);
    t.weights.push_back(std::move(weights));
    t.outside.push_back(f.coordinates == "tf_crop_and_resize" &&
                        (x < 0 || x > double(a.from - 1)));
  }
  return t;
}

/// For each element the index of the one that it copies.
std::vector<int64_t> copiesOf(const Taps &t, const Axis &a) {
  std::vector<int64_t> from;
  for (auto [first, weights] : llvm::zip_equal(t.first, t.weights))
    from.push_back(
        std::clamp<int64_t>(first + (weights[0] == 0), 0, a.from - 1));
  return from;
}

/// Repeats, then strides if possible; else a gather.
FailureOr<Expr> copied(const Node &n, Expr x, const Axis &a,
                       const std::vector<int64_t> &from) {
  const int64_t times = a.from ? a.to / a.from : 0;
  bool repeats = times > 1 && a.to % a.from == 0, strides = true;
  const int64_t step = a.to > 1 ? from[1] - from[0] : 1;
  for (int64_t i = 0; i < a.to; ++i) {
    repeats &= from[i] == i / std::max<int64_t>(times, 1);
    strides &= from[i] == from[0] + i * step;
  }
  if (repeats) {
    Shape shape = shapeOf(x), result = shape;
    result[a.axis] = a.to;
    shape.insert(shape.begin() + a.axis + 1, times);
    if (int64_t(shape.size()) <= kMaxRank)
      return unsqueezed(x, a.axis + 1).broadcast(shape).reshape(result);
  }
  if (strides && step > 0)
    return part(x, a.axis, from[0], a.to, step);
  DLC_GET(auto index, known(n, HostTensor::list(from), "source"));
  return gathered(x, index, a.axis);
}

bool areNear(const std::vector<double> &a, const std::vector<double> &b) {
  constexpr double kRounding = 1e-9;
  bool near = a.size() == b.size();
  for (size_t i = 0; near && i < a.size(); ++i)
    near = std::abs(a[i] - b[i]) < kRounding;
  return near;
}

/// The factor s by which weights repeat: element s i + p has the weights of p,
/// from i + an offset of p on; 0 if they do not repeat.
int64_t phasesOf(const Taps &t, const Axis &a) {
  constexpr int64_t kMostPhases = 4;
  const int64_t s = a.from ? a.to / a.from : 0;
  if (s < 2 || s > kMostPhases || a.to % a.from != 0)
    return 0;
  for (int64_t i = s; i < a.to; ++i)
    if (t.first[i] != t.first[i - s] + 1 ||
        !areNear(t.weights[i], t.weights[i - s]))
      return 0;
  return s;
}

Expr byPhases(Expr x, const Taps &t, const Axis &a, int64_t phases) {
  const int64_t low = std::max<int64_t>(
      0, -*std::min_element(t.first.begin(), t.first.begin() + phases));
  int64_t high = 0;
  for (int64_t p = 0; p < phases; ++p)
    high = std::max<int64_t>(high, t.first[p] + t.weights[p].size() - 1);
  // Replicates border elements as far as taps exceed the image.
  std::vector<Expr> parts;
  Shape edge = shapeOf(x);
  if (edge[a.axis] = low; low > 0)
    parts.push_back(part(x, a.axis, 0, 1).broadcast(edge));
  parts.push_back(x);
  if (edge[a.axis] = high; high > 0)
    parts.push_back(part(x, a.axis, a.from - 1, 1).broadcast(edge));
  Expr wide = joined(parts, a.axis);
  std::vector<Expr> results;
  for (int64_t p = 0; p < phases; ++p) {
    std::optional<Expr> sum;
    for (auto [k, weight] : llvm::enumerate(t.weights[p])) {
      if (weight == 0)
        continue;
      Expr tap = part(wide, a.axis, low + t.first[p] + k, a.from) * weight;
      sum = sum ? *sum + tap : tap;
    }
    results.push_back(unsqueezed(*sum, a.axis + 1));
  }
  Shape shape = shapeOf(x);
  shape[a.axis] = a.to;
  return joined(results, a.axis + 1).reshape(shape);
}

/// weights [to, from] times x along the axis.
FailureOr<Expr> byMatrix(const Node &n, Expr x, const Taps &t, const Axis &a) {
  const DType dtype = toDType(x.element());
  DLC_GET(auto lease,
          n.checked(n.table.budget().take(HostTensor::bytesOf(a.to * a.from),
                                          "the weights of a resize")));
  HostTensor matrix(dtype, {a.to, a.from}, std::move(lease));
  std::vector<double> row(a.from);
  for (int64_t i = 0; i < a.to; ++i) {
    row.assign(a.from, 0);
    for (size_t k = 0; k < t.weights[i].size() && !t.outside[i]; ++k)
      row[std::clamp<int64_t>(t.first[i] + int64_t(k), 0, a.from - 1)] +=
          t.weights[i][k];
    for (int64_t j = 0; j < a.from; ++j)
      matrix.setNumber(i * a.from + j, row[j]);
  }
  DLC_GET(auto weights, known(n, std::move(matrix), "weights"));
  const Shape shape = shapeOf(x);
  int64_t outer = 1, inner = 1;
  for (int64_t d = 0; d < x.rank(); ++d)
    (d < a.axis ? outer : inner) *= d == a.axis ? 1 : shape[d];
  Shape result = shape;
  result[a.axis] = a.to;
  Expr y = inner == 1 ? matmul(x.reshape({outer, a.from}), weights, false, true)
                      : matmul(weights, x.reshape({outer, a.from, inner}));
  return y.reshape(result);
}

/// Replaces elements outside of the image by the extrapolation value.
FailureOr<Expr> extrapolated(const Node &n, Expr y, const Taps &t,
                             const Axis &a, double value) {
  if (llvm::none_of(t.outside, [](bool is) { return is; }))
    return y;
  HostTensor mask(DType::Bool, {a.to});
  for (int64_t i = 0; i < a.to; ++i)
    mask.setInteger(i, t.outside[i]);
  DLC_GET(auto outside, known(n, std::move(mask), "outside"));
  return select(outside.reshape(lineShape(y.rank(), a.axis, a.to)), value, y);
}

FailureOr<Expr> resizeAxis(const Node &n, Expr x, const Form &f,
                           const Axis &a) {
  if (a.from == 0 && a.to > 0)
    return n.fail("dimension {} is empty", a.axis);
  const bool isWhole =
      f.coordinates != "tf_crop_and_resize" ||
      (std::abs(a.roiStart) < 1e-9 && std::abs(a.roiEnd - 1) < 1e-9);
  if (a.from == a.to && std::abs(a.scale - 1) < 1e-9 && isWhole)
    return x;
  if (a.to == 0)
    return part(x, a.axis, 0, 0);
  const double reach =
      f.antialias ? 8 / std::min(a.scale, 1.0) : 8; // taps per element
  DLC_CHECK(n.check(
      n.table.budget().work(uint64_t(double(a.to) * reach), "a resize")));
  const Taps t = tapsOf(f, a);
  FailureOr<Expr> y = x;
  if (f.mode == "nearest")
    y = copied(n, x, a, copiesOf(t, a));
  else if (int64_t phases = phasesOf(t, a); phases && x.rank() < kMaxRank)
    y = byPhases(x, t, a, phases);
  else
    y = byMatrix(n, x, t, a);
  return failed(y) ? y : extrapolated(n, *y, t, a, f.extrapolation);
}

FailureOr<Form> formOf(const Node &n) {
  Form f;
  DLC_GET(f.mode,
          n.choice("mode", "nearest",
                   {"nearest", "linear", "cubic", "bilinear", "trilinear"}));
  DLC_GET(f.coordinates,
          n.choice("coordinate_transformation_mode", "half_pixel",
                   {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                    "align_corners", "asymmetric", "tf_crop_and_resize"}));
  DLC_GET(f.nearest, n.choice("nearest_mode", "round_prefer_floor",
                              {"round_prefer_floor", "round_prefer_ceil",
                               "floor", "ceil"}));
  f.antialias = n.integer("antialias", 0) != 0;
  f.excludeOutside = n.integer("exclude_outside", 0) != 0;
  f.cubicA = n.number("cubic_coeff_a", -0.75);
  f.extrapolation = n.number("extrapolation_value", 0);
  if (f.mode == "bilinear" || f.mode == "trilinear")
    f.mode = "linear";
  return f;
}

/// Input `i` as numbers known at import.
FailureOr<std::vector<double>> numbers(const Node &n, size_t i,
                                       const char *what, size_t count) {
  const HostTensor *host = n.host(i);
  if (!host)
    return n.fail("expected {} to be known at compile time, but input '{}' "
                  "depends on the model's data",
                  what, n.inputName(i));
  if (host->elements() != int64_t(count))
    return n.fail("{} {}, expected {}", host->elements(), what, count);
  std::vector<double> values;
  for (size_t k = 0; k < count; ++k)
    values.push_back(host->number(k));
  return values;
}

bool isGiven(const Node &n, size_t i) {
  return n.has(i) && !(n.type(i) && n.type(i).getNumElements() == 0);
}

/// Result sizes as given, or with one scale for all axes.
LogicalResult sizeBySizes(const Node &n, size_t input,
                          std::vector<Axis> &axes) {
  DLC_GET(auto sizes, numbers(n, input, "sizes", axes.size()));
  DLC_GET(const auto policy,
          n.choice("keep_aspect_ratio_policy", "stretch",
                   {"stretch", "not_larger", "not_smaller"}));
  double least = INFINITY, most = 0;
  for (auto [a, size] : llvm::zip_equal(axes, sizes)) {
    a.to = int64_t(size);
    a.scale = a.from ? size / double(a.from) : 1;
    least = std::min(least, a.scale);
    most = std::max(most, a.scale);
  }
  if (policy == "stretch")
    return success();
  for (Axis &a : axes) {
    a.scale = policy == "not_larger" ? least : most;
    a.to = int64_t(a.scale * double(a.from) + 0.5);
  }
  return success();
}

LogicalResult sizeByScales(const Node &n, const std::vector<double> &scales,
                           std::vector<Axis> &axes) {
  constexpr double kMost = 1 << 30;
  for (auto [a, scale] : llvm::zip_equal(axes, scales)) {
    if (!(scale > 0) || scale * double(a.from) > kMost)
      return n.fail("scale {} of a dimension of {} is not supported", scale,
                    a.from);
    a.scale = scale;
    a.to = int64_t(std::floor(scale * double(a.from)));
  }
  return success();
}

LogicalResult sizeAxes(const Node &n, std::vector<Axis> &axes) {
  constexpr size_t scales = 2;
  if (isGiven(n, 3))
    return sizeBySizes(n, 3, axes);
  if (!isGiven(n, scales))
    return n.fail("expected scales or sizes");
  auto values = numbers(n, scales, "scales", axes.size());
  return failed(values) ? failure() : sizeByScales(n, *values, axes);
}

FailureOr<std::vector<Axis>> axesOf(const Node &n, const Shape &shape,
                                    const Form &f) {
  std::vector<int64_t> all(shape.size());
  std::iota(all.begin(), all.end(), 0);
  std::vector<Axis> axes;
  for (int64_t axis : n.integers("axes", all)) {
    DLC_GET(auto normal, n.checked(normalizeAxis(axis, shape.size())));
    axes.push_back({normal, shape[normal], shape[normal], 1, 0, 1});
  }
  if (f.coordinates == "tf_crop_and_resize") {
    DLC_GET(auto roi, numbers(n, 1, "numbers of roi", 2 * axes.size()));
    for (size_t i = 0; i < axes.size(); ++i) {
      axes[i].roiStart = roi[i];
      axes[i].roiEnd = roi[axes.size() + i];
    }
  }
  DLC_CHECK(sizeAxes(n, axes));
  Shape result = shape;
  for (const Axis &a : axes)
    result[a.axis] = a.to;
  DLC_CHECK(checkFits(n, result, "the result"));
  return axes;
}

/// Where the standard's corners are not those of PyTorch and ONNX Runtime.
void warnOfCorners(const Node &n, const Form &f,
                   const std::vector<Axis> &axes) {
  constexpr double kRounding = 1e-4; // of a scale in f32
  for (const Axis &a : axes) {
    const double length = a.scale * double(a.from);
    if (f.coordinates != "align_corners" ||
        std::abs(length - double(a.to)) < kRounding)
      continue;
    emitWarning(n.loc)
        << "align_corners aligns corners of length " << length
        << " (size x scale) in ONNX, and of the result's " << a.to
        << " in PyTorch and ONNX Runtime: for theirs, export with a size "
           "instead of a scale (F.interpolate(x, size=...))";
    return;
  }
}

LogicalResult resize(const Node &n, Expr x) {
  DLC_GET(auto form, formOf(n));
  DLC_GET(auto axes, axesOf(n, shapeOf(x), form));
  warnOfCorners(n, form, axes);
  const Type element = x.element();
  if (form.mode != "nearest" && !isa<FloatType>(element))
    return n.fail(
        "mode {} of {} is not supported; cast to a float type before it",
        form.mode, element);
  if (form.mode == "nearest" && form.antialias)
    return n.fail("antialias of mode nearest is not supported");
  Expr y = x;
  for (const Axis &a : axes) {
    DLC_GET(y, resizeAxis(n, y, form, a));
  }
  return n.result(y);
}

} // namespace

void addResizeRows(Rows &rows) {
  rows["Resize"] = ofInputs<resize>;
  rows["Upsample"] = ofInputs<resize>;
}

} // namespace dlc::import
