// SPDX-License-Identifier: Apache-2.0
// Pools: maximum, mean or norm of each window, or of the whole image.
#include "compiler/import/fold/HostEval.h"
#include "compiler/import/rows/Build.h"
#include "compiler/import/rows/image/Window.h"
#include "onnx-ml.pb.h"
#include "llvm/ADT/Sequence.h"

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

/// The window of a pool over images of spatial sizes `in`, with ceil_mode.
FailureOr<Window> ceiledWindow(const Node &n, ArrayRef<int64_t> in) {
  auto w = window(n, in, {});
  if (succeeded(w) && n.integer("ceil_mode", 0))
    applyCeil(in, *w);
  return w;
}

Operation *maxOver(const Node &n, Value x, const Window &w) {
  return n.makeOp<ir::MaxPoolOp>(
      2, x, ArrayRef<int64_t>(w.kernel), ArrayRef<int64_t>(w.strides),
      ArrayRef<int64_t>(w.pads), ArrayRef<int64_t>(w.dilations), "nchw");
}

/// Flat index in the input of each maximum, from its position in the window.
/// With storage_order 1 the first spatial dimension varies fastest.
Expr placesOf(const Node &n, Value taps, const Shape &in, const Window &w) {
  Expr tap = Expr(n.b, n.loc, taps).cast(n.b.getI64Type());
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
  Value x = n.in(0);
  if (!x || failed(checkImage(n, shapeOf(x))))
    return failure();
  const Type element = ir::elementType(x);
  if (!isa<FloatType>(element)) // of 8 bits, according to ONNX
    x = n.cast(x, n.b.getF32Type());
  Shape sx = shapeOf(x);
  auto in = ArrayRef<int64_t>(sx).drop_front(2);
  DLC_GET(auto w, ceiledWindow(n, in));
  if (w.sizes().taps() <= 255) {
    Operation *op = maxOver(n, x, w);
    if (!op)
      return failure();
    if (n.uses(1) && failed(n.result(1, placesOf(n, op->getResult(1), sx, w))))
      return failure();
    return n.result(n.cast(op->getResult(0), element));
  }
  if (n.uses(1))
    return n.fail() << "the Indices output of MaxPool is not supported for a "
                       "window of "
                    << w.sizes().taps() << " elements, expected at most 255";
  for (size_t d = in.size(); d-- > 0;)
    if (Operation *op = maxOver(n, x, only(w, d)))
      x = op->getResult(0);
    else
      return failure();
  return n.result(n.cast(x, element));
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
  auto x = input(n, 0), index = input(n, 1);
  if (failed(x) || failed(index) || failed(checkImage(n, shapeOf(*x))))
    return failure();
  const Shape shape = shapeOf(*x);
  DLC_GET(auto w, window(n, ArrayRef<int64_t>(shape).drop_front(2), {}));
  if (shapeOf(*index) != shape)
    return n.fail() << "indices of shape " << toString(shapeOf(*index))
                    << " for an input of shape " << toString(shape);
  Shape least = shape;
  for (size_t d = 0; d < w.kernel.size(); ++d) {
    const Sliding along = w.along(d);
    least[2 + d] = (shape[2 + d] - 1) * along.stride + along.kernel -
                   along.low - along.high;
  }
  DLC_GET(auto wanted, n.integersOr(2, "output_shape", least));
  if (!holds(wanted, least))
    return n.fail() << "output_shape " << toString(wanted)
                    << " does not fit, expected at least " << toString(least);
  DLC_CHECK(checkFits(n, wanted, "the result"));
  const int64_t count = sizeOf(shape), places = sizeOf(least);
  Expr y = overwritten(n, filled(n, {places}, x->type().getElementType(), 0),
                       index->reshape({count}), x->reshape({count}))
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
  Value x = n.in(0);
  if (!x || failed(checkImage(n, shapeOf(x))))
    return failure();
  Shape sx = shapeOf(x);
  auto in = ArrayRef<int64_t>(sx).drop_front(2);
  DLC_GET(auto w, window(n, in, {}));
  bool includePad = n.integer("count_include_pad", 0);
  const Window exact = w;
  bool added = n.integer("ceil_mode", 0) && applyCeil(in, w);
  Value y = n.make<ir::AvgPoolOp>(
      x, ArrayRef<int64_t>(w.kernel), ArrayRef<int64_t>(w.strides),
      ArrayRef<int64_t>(w.pads), ArrayRef<int64_t>(w.dilations), "nchw",
      includePad);
  if (added && includePad)
    y = uncounted(n, y, in, exact);
  return n.result(y);
}

/// |^p, which LpPool sums over windows.
Value powered(const Node &n, Value x, int64_t p) {
  if (p == 2)
    return n.make<ir::MulOp>(x, x);
  Value size = n.make<ir::AbsOp>(x);
  return p == 1 ? size : n.make<ir::PowOp>(size, n.constant(double(p), x));
}
Value rootOf(const Node &n, Value sum, int64_t p) {
  if (!sum || p == 1)
    return sum;
  return p == 2 ? n.make<ir::SqrtOp>(sum)
                : n.make<ir::PowOp>(sum, n.constant(1.0 / double(p), sum));
}

LogicalResult checkPower(const Node &n, int64_t p) {
  if (p >= 1)
    return success();
  return n.fail() << "p is " << p << ", expected at least 1";
}

/// Padding contributes zeros.
LogicalResult lpPool(const Node &n) {
  Value x = n.in(0);
  const int64_t p = n.integer("p", 2);
  if (!x || failed(checkImage(n, shapeOf(x))) || failed(checkPower(n, p)))
    return failure();
  Shape sx = shapeOf(x);
  auto in = ArrayRef<int64_t>(sx).drop_front(2);
  DLC_GET(auto w, ceiledWindow(n, in));
  DLC_GET(Value mean,
          n.make<ir::AvgPoolOp>(powered(n, x, p), ArrayRef<int64_t>(w.kernel),
                                ArrayRef<int64_t>(w.strides),
                                ArrayRef<int64_t>(w.pads),
                                ArrayRef<int64_t>(w.dilations), "nchw", true));
  Value sum =
      n.make<ir::MulOp>(mean, n.constant(double(w.sizes().taps()), mean));
  return n.result(rootOf(n, sum, p));
}

template <typename Op> LogicalResult globalPool(const Node &n) {
  DLC_GET(Value x, n.in(0));
  if (shapeOf(x).size() < 3)
    return n.fail() << "expected an input of rank 3 or more, found "
                    << toString(shapeOf(x));
  auto axes = llvm::to_vector(llvm::seq<int64_t>(2, shapeOf(x).size()));
  return n.result(n.make<Op>(x, ArrayRef<int64_t>(axes), true));
}

LogicalResult globalLpPool(const Node &n) {
  Value x = n.in(0);
  const int64_t p = n.integer("p", 2);
  if (!x || failed(checkImage(n, shapeOf(x))) || failed(checkPower(n, p)))
    return failure();
  auto axes = llvm::to_vector(llvm::seq<int64_t>(2, shapeOf(x).size()));
  return n.result(rootOf(
      n,
      n.make<ir::ReduceSumOp>(powered(n, x, p), ArrayRef<int64_t>(axes), true),
      p));
}

} // namespace

void addPoolRows(Rows &rows) {
  rows["MaxPool"] = maxPool;
  rows["MaxUnpool"] = maxUnpool;
  rows["AveragePool"] = averagePool;
  rows["LpPool"] = lpPool;
  rows["GlobalLpPool"] = globalLpPool;
  rows["GlobalAveragePool"] = globalPool<ir::ReduceMeanOp>;
  rows["GlobalMaxPool"] = globalPool<ir::ReduceMaxOp>;
}

} // namespace dlc::import
