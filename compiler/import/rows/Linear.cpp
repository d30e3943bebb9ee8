// Matrix products, convolutions and pooling.
#include "compiler/import/fold/HostEval.h"
#include "compiler/import/rows/Build.h"
#include "compiler/import/rows/Quantize.h"
#include "onnx-ml.pb.h"
#include "runtime/base/numbers/Sliding.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;

namespace dlc::import {
namespace {

/// numpy matmul: rank-1 operands get a dimension that the result loses.
LogicalResult matmul(const Node &n) {
  Value a = n.in(0), b = n.in(1);
  if (!a || !b)
    return failure();
  Shape sa = shapeOf(a), sb = shapeOf(b);
  if (sa.empty() || sb.empty())
    return n.fail() << "expected operands of rank 1 or more, found a scalar";
  bool rowVector = sa.size() == 1, columnVector = sb.size() == 1;
  if (rowVector)
    a = n.reshape(a, {1, sa[0]});
  if (columnVector)
    b = n.reshape(b, {sb[0], 1});
  Value y = n.make<ir::MatmulOp>(a, b, Value(), false, false, StringAttr());
  if (!y || (!rowVector && !columnVector))
    return n.result(y);
  Shape shape = shapeOf(y);
  if (columnVector)
    shape.pop_back();
  if (rowVector)
    shape.erase(shape.end() - (columnVector ? 1 : 2));
  return n.result(n.reshape(y, shape));
}

/// alpha * A' B' + beta * C; C of shape [N] is matmul's own bias.
LogicalResult gemm(const Node &n) {
  Value a = n.in(0), b = n.in(1);
  if (!a || !b)
    return failure();
  bool transA = n.integer("transA", 0), transB = n.integer("transB", 0);
  double alpha = n.number("alpha", 1), beta = n.number("beta", 1);
  if (shapeOf(a).size() != 2 || shapeOf(b).size() != 2)
    return n.fail() << "expected matrices, found shapes "
                    << toString(shapeOf(a)) << " and " << toString(shapeOf(b));
  Value c = n.has(2) && beta != 0 ? n.in(2) : Value();
  if (c && beta != 1)
    c = n.make<ir::MulOp>(c, n.constant(beta, c));
  int64_t columns = shapeOf(b)[transB ? 0 : 1];
  bool fused =
      c && alpha == 1 &&
      (shapeOf(c) == Shape{columns} || shapeOf(c) == Shape{1, columns});
  Value bias = fused ? n.reshape(c, {columns}) : Value();
  Value y = n.make<ir::MatmulOp>(a, b, bias, transA, transB, StringAttr());
  if (y && alpha != 1)
    y = n.make<ir::MulOp>(y, n.constant(alpha, y));
  if (c && !fused)
    y = n.make<ir::AddOp>(y, c);
  return n.result(y);
}

/// The window attributes that Conv and the pools share, made explicit.
struct Window {
  std::vector<int64_t> kernel, strides, pads, dilations;

  WindowSizes sizes() const { return {kernel, strides, pads, dilations}; }
  Sliding along(size_t d) const { return sizes().along(d); }
};

constexpr int64_t kMaxWindow = 1 << 20;

LogicalResult checkWindow(const Node &n, const Window &w) {
  size_t dims = w.kernel.size();
  if (w.strides.size() != dims || w.dilations.size() != dims ||
      w.pads.size() != 2 * dims)
    return n.fail() << "expected " << dims << " strides and dilations and "
                    << 2 * dims << " pads, found " << w.strides.size() << ", "
                    << w.dilations.size() << " and " << w.pads.size();
  auto outside = [](int64_t least) {
    return [least](int64_t v) { return v < least || v > kMaxWindow; };
  };
  if (llvm::any_of(w.kernel, outside(1)) ||
      llvm::any_of(w.strides, outside(1)) ||
      llvm::any_of(w.dilations, outside(1)) || llvm::any_of(w.pads, outside(0)))
    return n.fail() << "kernel " << toString(w.kernel) << ", strides "
                    << toString(w.strides) << ", dilations "
                    << toString(w.dilations) << " or pads " << toString(w.pads)
                    << " are out of range";
  return success();
}

/// Resolves auto_pad: SAME keeps ceil(in / stride) outputs.
LogicalResult resolvePads(const Node &n, ArrayRef<int64_t> in, Window &w) {
  std::string mode = n.text("auto_pad", "NOTSET");
  size_t dims = w.kernel.size();
  if (mode == "NOTSET")
    return success();
  w.pads.assign(2 * dims, 0);
  if (mode == "VALID")
    return success();
  if (mode != "SAME_UPPER" && mode != "SAME_LOWER")
    return n.fail() << "auto_pad '" << mode << "' is not known";
  for (size_t i = 0; i < dims; ++i) {
    int64_t out = (in[i] + w.strides[i] - 1) / w.strides[i];
    int64_t read = (out - 1) * w.strides[i] + w.along(i).span();
    int64_t total = std::max<int64_t>(0, read - in[i]);
    int64_t begin = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
    w.pads[i] = begin;
    w.pads[dims + i] = total - begin;
  }
  return success();
}

FailureOr<Window> window(const Node &n, ArrayRef<int64_t> in,
                         std::vector<int64_t> kernel) {
  Window w;
  size_t dims = in.size();
  w.kernel = n.integers("kernel_shape", std::move(kernel));
  if (w.kernel.size() != dims)
    return n.fail() << "kernel_shape " << toString(w.kernel) << " for " << dims
                    << " spatial dimensions";
  w.strides = n.integers("strides", std::vector<int64_t>(dims, 1));
  w.dilations = n.integers("dilations", std::vector<int64_t>(dims, 1));
  w.pads = n.integers("pads", std::vector<int64_t>(2 * dims, 0));
  if (failed(checkWindow(n, w)) || failed(resolvePads(n, in, w)))
    return failure();
  return w;
}

LogicalResult checkImage(const Node &n, const Shape &shape) {
  if (ImageDims::areImages(shape.size()))
    return success();
  return n.fail() << "expected an input of rank 3 to 5, found "
                  << toString(shape);
}

/// A bias of zeros that the exporter wrote out (dynamo does) is no bias.
Value biasOf(const Node &n) {
  if (const HostTensor *known = n.host(2))
    if (known->isSplat() && known->number(0) == 0)
      return nullptr;
  return n.has(2) ? n.in(2) : Value();
}

/// The window of a convolution of x by weights of these shapes.
FailureOr<Window> windowOfWeights(const Node &n, const Shape &x,
                                  const Shape &weights) {
  const Shape kernel(weights.begin() + 2, weights.end());
  auto w = window(n, ArrayRef<int64_t>(x).drop_front(2), kernel);
  if (succeeded(w) && w->kernel != kernel)
    return n.fail() << "kernel_shape " << toString(w->kernel)
                    << " for weights of shape " << toString(weights);
  return w;
}

} // namespace

Value convolution(const Node &n, Value x, Value w, Value bias) {
  if (!x || !w || failed(checkImage(n, shapeOf(x))))
    return nullptr;
  Shape sx = shapeOf(x), sw = shapeOf(w);
  if (sw.size() != sx.size()) {
    n.fail() << "weights of shape " << toString(sw) << " for an input of shape "
             << toString(sx);
    return nullptr;
  }
  int64_t group = n.integer("group", 1);
  if (group < 1 || group > std::max<int64_t>(1, sx[1])) {
    n.fail() << "group is " << group << ", expected 1 to the " << sx[1]
             << " channels of the input";
    return nullptr;
  }
  auto win = windowOfWeights(n, sx, sw);
  if (failed(win))
    return nullptr;
  return n.make<ir::ConvOp>(
      x, w, bias, ArrayRef<int64_t>(win->strides), ArrayRef<int64_t>(win->pads),
      ArrayRef<int64_t>(win->dilations), uint64_t(group), "nchw");
}

namespace {

/// Sizes of ConvTranspose's result. Where the file gives the size (or SAME,
/// in * stride), pads follow from it.
FailureOr<Shape> transposedSizes(const Node &n, ArrayRef<int64_t> in,
                                 Window &w) {
  size_t dims = in.size();
  auto extra = n.integers("output_padding", std::vector<int64_t>(dims, 0));
  auto wanted = n.integers("output_shape", {});
  std::string mode = n.text("auto_pad", "NOTSET");
  if (extra.size() != dims || (!wanted.empty() && wanted.size() != dims))
    return n.fail() << "expected " << dims
                    << " numbers in output_padding and output_shape, found "
                    << toString(extra) << " and " << toString(wanted);
  Shape out;
  for (size_t i = 0; i < dims; ++i) {
    int64_t whole = (in[i] - 1) * w.strides[i] + extra[i] +
                    (w.kernel[i] - 1) * w.dilations[i] + 1;
    if (!wanted.empty() || StringRef(mode).starts_with("SAME")) {
      int64_t size = wanted.empty() ? in[i] * w.strides[i] : wanted[i];
      int64_t total = std::max<int64_t>(0, whole - size);
      w.pads[i] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
      w.pads[dims + i] = total - w.pads[i];
      out.push_back(size);
    } else {
      out.push_back(whole - w.pads[i] - w.pads[dims + i]);
    }
    if (out[i] < 1 || extra[i] < 0 || w.along(i).outputs(out[i]) != in[i])
      return n.fail() << "output_padding " << toString(extra)
                      << " or output_shape " << toString(wanted)
                      << " is not supported for an input of "
                      << toString(Shape(in)) << " and strides "
                      << toString(w.strides);
  }
  return out;
}

/// The gradient of a convolution that has its weights, by their other name.
LogicalResult convTranspose(const Node &n) {
  Value x = n.in(0), w = n.in(1);
  if (!x || !w)
    return failure();
  Shape sx = shapeOf(x), sw = shapeOf(w);
  if (failed(checkImage(n, sx)))
    return failure();
  int64_t group = n.integer("group", 1);
  if (sw.size() != sx.size() || sw[0] != sx[1] || group < 1 || sw[0] % group)
    return n.fail() << "weights of shape " << toString(sw) << " in " << group
                    << " groups for an input of shape " << toString(sx);
  auto win = windowOfWeights(n, sx, sw);
  if (failed(win))
    return failure();
  auto out = transposedSizes(n, ArrayRef<int64_t>(sx).drop_front(2), *win);
  if (failed(out))
    return failure();
  Shape shape{sx[0], sw[1] * group};
  shape.insert(shape.end(), out->begin(), out->end());
  Value y = n.makeAs<ir::ConvBackwardDataOp>(
      RankedTensorType::get(shape, ir::elementType(x)), x, w, win->strides,
      win->pads, win->dilations, uint64_t(group), "nchw");
  if (Value bias = biasOf(n); y && bias) {
    Shape perChannel(shape.size(), 1);
    perChannel[1] = shape[1];
    y = n.make<ir::AddOp>(y, n.reshape(bias, perChannel));
  }
  return n.result(y);
}

/// ceil_mode as padding at the end: an output counts when its window starts
/// inside the input or the padding before it. Returns whether it added any.
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

Operation *maxOver(const Node &n, Value x, const Window &w) {
  return n.makeOp<ir::MaxPoolOp>(
      2, x, ArrayRef<int64_t>(w.kernel), ArrayRef<int64_t>(w.strides),
      ArrayRef<int64_t>(w.pads), ArrayRef<int64_t>(w.dilations), "nchw");
}

/// Where in the whole input each maximum is, by its position in the window.
/// With storage_order 1 an image's first dimension is the fastest.
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

/// The part of a window that is dimension d.
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

/// A window of more positions than an index tells apart is done a dimension at
/// a time, the last first: of equal values the first still wins.
LogicalResult maxPool(const Node &n) {
  Value x = n.in(0);
  if (!x || failed(checkImage(n, shapeOf(x))))
    return failure();
  const Type element = ir::elementType(x);
  if (!isa<FloatType>(element)) // of 8 bits, by ONNX
    x = n.cast(x, n.b.getF32Type());
  Shape sx = shapeOf(x);
  auto in = ArrayRef<int64_t>(sx).drop_front(2);
  auto w = window(n, in, {});
  if (failed(w))
    return failure();
  if (n.integer("ceil_mode", 0))
    applyCeil(in, *w);
  if (w->sizes().taps() <= 255) {
    Operation *op = maxOver(n, x, *w);
    if (!op)
      return failure();
    if (n.uses(1) && failed(n.result(1, placesOf(n, op->getResult(1), sx, *w))))
      return failure();
    return n.result(n.cast(op->getResult(0), element));
  }
  if (n.uses(1))
    return n.fail() << "the Indices output of MaxPool is not supported for a "
                       "window of "
                    << w->sizes().taps() << " elements, expected at most 255";
  for (size_t d = in.size(); d-- > 0;)
    if (Operation *op = maxOver(n, x, only(*w, d)))
      x = op->getResult(0);
    else
      return failure();
  return n.result(n.cast(x, element));
}

/// Means over all taps as means over those that count: padding that ceil_mode
/// added to `exact` does not. Along each dimension it is the last window's.
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
  auto w = window(n, in, {});
  if (failed(w))
    return failure();
  bool includePad = n.integer("count_include_pad", 0);
  const Window exact = *w;
  bool added = n.integer("ceil_mode", 0) && applyCeil(in, *w);
  Value y = n.make<ir::AvgPoolOp>(
      x, ArrayRef<int64_t>(w->kernel), ArrayRef<int64_t>(w->strides),
      ArrayRef<int64_t>(w->pads), ArrayRef<int64_t>(w->dilations), "nchw",
      includePad);
  if (added && includePad)
    y = uncounted(n, y, in, exact);
  return n.result(y);
}

/// |x|^p, of which LpPool's windows are added up.
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

/// Padding counts as zeros.
LogicalResult lpPool(const Node &n) {
  Value x = n.in(0);
  const int64_t p = n.integer("p", 2);
  if (!x || failed(checkImage(n, shapeOf(x))) || failed(checkPower(n, p)))
    return failure();
  Shape sx = shapeOf(x);
  auto in = ArrayRef<int64_t>(sx).drop_front(2);
  auto w = window(n, in, {});
  if (failed(w))
    return failure();
  if (n.integer("ceil_mode", 0))
    applyCeil(in, *w);
  Value mean = n.make<ir::AvgPoolOp>(
      powered(n, x, p), ArrayRef<int64_t>(w->kernel),
      ArrayRef<int64_t>(w->strides), ArrayRef<int64_t>(w->pads),
      ArrayRef<int64_t>(w->dilations), "nchw", true);
  if (!mean)
    return failure();
  Value sum =
      n.make<ir::MulOp>(mean, n.constant(double(w->sizes().taps()), mean));
  return n.result(rootOf(n, sum, p));
}

template <typename Op> LogicalResult globalPool(const Node &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  if (shapeOf(x).size() < 3)
    return n.fail() << "expected an input of rank 3 or more, found "
                    << toString(shapeOf(x));
  auto axes = llvm::to_vector(llvm::seq<int64_t>(2, shapeOf(x).size()));
  return n.result(n.make<Op>(x, ArrayRef<int64_t>(axes), true));
}

/// com.microsoft: the product with its last two dimensions swapped or not.
LogicalResult fusedMatMul(const Node &n) {
  if (n.integer("transBatchA", 0) || n.integer("transBatchB", 0))
    return n.fail() << "transBatchA and transBatchB are not supported";
  Value a = n.in(0), b = n.in(1);
  if (!a || !b)
    return failure();
  if (shapeOf(a).size() < 2 || shapeOf(b).size() < 2)
    return n.fail() << "expected operands of rank 2 or more, found "
                    << toString(shapeOf(a)) << " and " << toString(shapeOf(b));
  Value y = n.make<ir::MatmulOp>(a, b, Value(), n.integer("transA", 0) != 0,
                                 n.integer("transB", 0) != 0, StringAttr());
  const double alpha = n.number("alpha", 1);
  return n.result(alpha == 1 ? y : n.make<ir::MulOp>(y, n.constant(alpha, y)));
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

void addLinearRows(Rows &rows) {
  rows["com.microsoft.FusedMatMul"] = fusedMatMul;
  rows["MatMul"] = matmul;
  rows["Gemm"] = gemm;
  rows["Conv"] = [](const Node &n) {
    Value x = n.in(0), w = n.in(1); // in this order in the program, too
    return n.result(convolution(n, x, w, biasOf(n)));
  };
  rows["ConvTranspose"] = convTranspose;
  rows["MaxPool"] = maxPool;
  rows["AveragePool"] = averagePool;
  rows["LpPool"] = lpPool;
  rows["GlobalLpPool"] = globalLpPool;
  rows["GlobalAveragePool"] = globalPool<ir::ReduceMeanOp>;
  rows["GlobalMaxPool"] = globalPool<ir::ReduceMaxOp>;
}

} // namespace dlc::import
