// SPDX-License-Identifier: Apache-2.0
// Pools: maximum, mean or norm of each window, or of the whole image.
#include "compiler/import/fold/HostEval.h"
#include "compiler/import/rows/Build.h"
#include "compiler/import/rows/image/Window.h"
#include "onnx-ml.pb.h"

using namespace mlir;

namespace dlc::import {
namespace {

/// Converts ceil_mode to padding at the end; a window counts if it starts
/// inside of the input or the padding before it. Returns whether it added
/// padding.
bool applyCeil(ArrayRef<int64_t> in, Window &w) {
  bool added = false;
  for (size_t i = 0, dims = in.size(); i < dims; ++i) {
    int64_t room = in[i] + w.pads[i] + w.pads[dims + i] - w.along(i).span();
    int64_t rest = room < 0 ? 0 : room % w.strides[i];
    if (rest == 0)
      continue;
    int64_t start = (room / w.strides[i] + 1) * w.strides[i];
    if (start >= in[i] + w.pads[i])
      continue;
    w.pads[dims + i] += w.strides[i] - rest;
    added = true;
  }
  return added;
}

/// Input 0, [N, C, D...] with one to three D.
FailureOr<Expr> image(const Node &n) {
  DLC_GET(auto x, input(n, 0));
  DLC_CHECK(checkImage(n, shapeOf(x)));
  return x;
}
ArrayRef<int64_t> sizesOf(Expr x) { return x.shape().drop_front(2); }

/// The window of a pool over images of spatial sizes `in`, with ceil_mode.
FailureOr<Window> ceiledWindow(const Node &n, ArrayRef<int64_t> in) {
  auto w = window(n, in, {});
  if (succeeded(w) && n.integer("ceil_mode", 0))
    applyCeil(in, *w);
  return w;
}

Value meanOver(const Node &n, Expr x, const Window &w, bool includePad) {
  return n.make<ir::AvgPoolOp>(
      x.v, ArrayRef<int64_t>(w.kernel), ArrayRef<int64_t>(w.strides),
      ArrayRef<int64_t>(w.pads), ArrayRef<int64_t>(w.dilations), "nchw",
      includePad);
}

Operation *maxOver(const Node &n, Expr x, const Window &w) {
  return n.makeOp<ir::MaxPoolOp>(
      2, x.v, ArrayRef<int64_t>(w.kernel), ArrayRef<int64_t>(w.strides),
      ArrayRef<int64_t>(w.pads), ArrayRef<int64_t>(w.dilations), "nchw");
}

/// Flat index in the input of each maximum, from its position in the window.
/// With storage_order 1 the first spatial dimension varies fastest.
Expr placesOf(const Node &n, Value taps, const Shape &in, const Window &w) {
  Expr tap = n.expr(taps).cast(n.b.getI64Type());
  const Shape out = shapeOf(tap);
  const int64_t dims = int64_t(w.kernel.size());
  const bool firstIsFastest = n.integer("storage_order", 0);
  Expr place = iota(n, out, 0) * double(in[1]) + iota(n, out, 1);
  const int64_t image = sizeOf(Shape(in.begin() + 2, in.end()));
  place = place * double(image);
  int64_t later = 1, stride = firstIsFastest ? image : 1;
  for (int64_t d = dims; d-- > 0;) {
    Expr rest = later == 1 ? tap : tap / double(later);
    Expr step = rest - rest / double(w.kernel[d]) * double(w.kernel[d]);
    Expr at = iota(n, out, 2 + d) * double(w.strides[d]) - double(w.pads[d]) +
              step * double(w.dilations[d]);
    if (firstIsFastest)
      stride /= in[2 + d];
    place = place + at * double(stride);
    if (!firstIsFastest)
      stride *= in[2 + d];
    later *= w.kernel[d];
  }
  return place;
}

/// Restricts a window to dimension d.
Window only(const Window &w, size_t d) {
  const size_t dims = w.kernel.size();
  Window part{Shape(dims, 1), Shape(dims, 1), Shape(2 * dims, 0),
              Shape(dims, 1)};
  part.kernel[d] = w.kernel[d];
  part.strides[d] = w.strides[d];
  part.dilations[d] = w.dilations[d];
  part.pads[d] = w.pads[d];
  part.pads[dims + d] = w.pads[dims + d];
  return part;
}

/// A window with more positions than an index can distinguish is split by
/// dimension, the last first; ties still select the first maximum.
LogicalResult maxPool(const Node &n) {
  DLC_GET(auto x, image(n));
  const Type element = x.element();
  if (!isa<FloatType>(element)) // of 8 bits, according to ONNX
    x = x.cast(n.b.getF32Type());
  DLC_GET(auto w, ceiledWindow(n, sizesOf(x)));
  if (w.sizes().taps() <= 255) {
    Operation *op = maxOver(n, x, w);
    if (!op)
      return failure();
    if (n.uses(1))
      DLC_CHECK(n.result(1, placesOf(n, op->getResult(1), shapeOf(x), w)));
    return n.result(n.cast(op->getResult(0), element));
  }
  if (n.uses(1))
    return n.fail("the Indices output of MaxPool is not supported for a window "
                  "of {} elements, expected at most 255",
                  w.sizes().taps());
  for (size_t d = w.kernel.size(); d-- > 0;)
    if (Operation *op = maxOver(n, x, only(w, d)))
      x = n.expr(op->getResult(0));
    else
      return failure();
  return n.result(x.cast(element));
}

/// Whether `image` is at least as large as `least`, with as many samples and
/// channels. MaxUnpool scatters x by its indices into zeros of the least size
/// that the pool's input had; output_shape may add zeros after these.
bool holds(const Shape &image, const Shape &least) {
  return image.size() == least.size() && image[0] == least[0] &&
         image[1] == least[1] &&
         std::equal(image.begin() + 2, image.end(), least.begin() + 2,
                    [](int64_t a, int64_t b) { return b > 0 && a >= b; });
}

LogicalResult maxUnpool(const Node &n) {
  DLC_GET(auto index, input(n, 1));
  DLC_GET(auto x, image(n));
  const Shape shape = shapeOf(x);
  DLC_GET(auto w, window(n, sizesOf(x), {}));
  if (shapeOf(index) != shape)
    return n.fail("indices of shape {} for an input of shape {}",
                  shapeOf(index), shape);
  Shape least = shape;
  for (size_t d = 0; d < w.kernel.size(); ++d) {
    const Sliding along = w.along(d);
    least[2 + d] = (shape[2 + d] - 1) * along.stride + along.kernel -
                   along.low - along.high;
  }
  DLC_GET(auto wanted, n.integersOr(2, "output_shape", least));
  if (!holds(wanted, least))
    return n.fail("output_shape {} does not fit, expected at least {}", wanted,
                  least);
  DLC_CHECK(checkFits(n, wanted, "the result"));
  const int64_t count = sizeOf(shape), places = sizeOf(least);
  Expr y = overwritten(n, filled(n, {places}, x.element(), 0),
                       index.reshape({count}), x.reshape({count}))
               .reshape(least);
  for (size_t d = 2; d < least.size(); ++d)
    y = padded(y, d, 0, wanted[d] - least[d]);
  return n.result(y);
}

/// Corrects means over all taps to means without the padding that ceil_mode
/// added to `exact`, which only affects the last window of each dimension.
Value uncounted(const Node &n, Value y, ArrayRef<int64_t> in,
                const Window &exact) {
  for (size_t d = 0; y && d < in.size(); ++d) {
    const Sliding along = exact.along(d);
    const int64_t last = shapeOf(y)[2 + d] - 1,
                  counted = along.counted(last, in[d], true);
    if (counted == along.kernel)
      continue;
    Shape shape(2 + in.size(), 1);
    shape[2 + d] = last + 1;
    HostCall call{n, {}, n.table.budget()};
    auto factors = call.make(toDType(ir::elementType(y)), shape);
    if (!factors.ok()) {
      (void)n.fail(factors.status());
      return Value();
    }
    for (int64_t o = 0; o < last; ++o)
      factors->setNumber(o, 1);
    factors->setNumber(last, double(along.kernel) / double(counted));
    y = n.make<ir::MulOp>(y, n.constant(*factors));
  }
  return y;
}

LogicalResult averagePool(const Node &n) {
  DLC_GET(auto x, image(n));
  DLC_GET(auto w, window(n, sizesOf(x), {}));
  bool includePad = n.integer("count_include_pad", 0);
  const Window exact = w;
  bool added = n.integer("ceil_mode", 0) && applyCeil(sizesOf(x), w);
  Value y = meanOver(n, x, w, includePad);
  if (added && includePad)
    y = uncounted(n, y, sizesOf(x), exact);
  return n.result(y);
}

/// |x|^p, which LpPool sums over windows.
Expr powered(Expr x, int64_t p) {
  if (p == 2)
    return x * x;
  return p == 1 ? abs(x) : pow(abs(x), x.scalar(double(p)));
}
Expr rootOf(Expr sum, int64_t p) {
  if (p == 1)
    return sum;
  return p == 2 ? sqrt(sum) : pow(sum, sum.scalar(1.0 / double(p)));
}

FailureOr<int64_t> powerOf(const Node &n) {
  const int64_t p = n.integer("p", 2);
  if (p >= 1)
    return p;
  return n.fail("p is {}, expected at least 1", p);
}

/// Padding contributes zeros.
LogicalResult lpPool(const Node &n) {
  DLC_GET(auto x, image(n));
  DLC_GET(auto p, powerOf(n));
  DLC_GET(auto w, ceiledWindow(n, sizesOf(x)));
  DLC_GET(Value mean, meanOver(n, powered(x, p), w, true));
  return n.result(rootOf(n.expr(mean) * double(w.sizes().taps()), p));
}

/// The gradient of a maximum goes to one element, as in MaxPool.
template <bool isMax> LogicalResult globalPool(const Node &n) {
  DLC_GET(auto x, input(n, 0));
  if (x.rank() < 3)
    return n.fail("expected an input of rank 3 or more, found {}", shapeOf(x));
  const auto spatial = ir::axesBetween(2, x.rank());
  if constexpr (!isMax)
    return n.result(n.make<ir::ReduceMeanOp>(x.v, spatial, true));
  const int64_t size = sizeOf(Shape(sizesOf(x)));
  if (size == 0)
    return n.result(n.make<ir::ReduceMaxOp>(x.v, spatial, true));
  Shape pooled(x.rank(), 1);
  std::copy_n(x.shape().begin(), 2, pooled.begin());
  Expr rows = x.reshape({pooled[0], pooled[1], size});
  return n.result(firstExtremum(n, rows, 2, false, true).reshape(pooled));
}

LogicalResult globalLpPool(const Node &n) {
  DLC_GET(auto x, image(n));
  DLC_GET(auto p, powerOf(n));
  Expr sum = powered(x, p).sum(ir::axesBetween(2, x.rank()), true);
  return n.result(rootOf(sum, p));
}

} // namespace

void addPoolRows(Rows &rows) {
  rows["MaxPool"] = maxPool;
  rows["MaxUnpool"] = maxUnpool;
  rows["AveragePool"] = averagePool;
  rows["LpPool"] = lpPool;
  rows["GlobalLpPool"] = globalLpPool;
  rows["GlobalAveragePool"] = globalPool<false>;
  rows["GlobalMaxPool"] = globalPool<true>;
}

} // namespace dlc::import
