// SPDX-License-Identifier: Apache-2.0
// Quantisation and integer products. Gradients of quantised and dequantised
// values are straight-through, except where they were clipped.
#include "compiler/import/rows/Quantize.h"
#include "compiler/import/rows/Build.h"
#include "compiler/import/rows/image/Window.h"
#include "compiler/import/tensor/DataType.h"
#include "onnx-ml.pb.h"
#include "llvm/ADT/STLFunctionalExtras.h"

using namespace mlir;

namespace dlc::import {

/// Attribute of casts to integers whose operand has integral values in range.
static constexpr StringRef kWhole = "dlc.whole";

/// Range of an ONNX integer type; an error for other types.
static FailureOr<IntegerRange> integerRange(const Node &n, int onnxType) {
  if (onnxType == onnx::TensorProto::UINT8)
    return IntegerRange{0, 255};
  const SmallInteger *integer = smallInteger(onnxType);
  if (!integer || integer->bits > 16)
    return n.fail("quantisation to {} is not supported, expected integers of "
                  "at most 16 bits or floats of at most 8 that have a sign",
                  onnxTypeName(onnxType));
  const double count = std::ldexp(1.0, integer->bits);
  if (integer->isSigned)
    return IntegerRange{-count / 2, count / 2 - 1};
  return IntegerRange{0, count - 1};
}

Expr quantized(Expr scaled, Expr zeroPoint, IntegerRange range, Type type) {
  Expr whole = round(scaled);
  whole.v.getDefiningOp()->setAttr(ir::kStraightThrough,
                                   UnitAttr::get(whole.v.getContext()));
  whole = wide(whole);
  Expr y = whole + zeroPoint.cast(whole.element());
  Expr low = y.scalar(range.low), high = y.scalar(range.high);
  y = select(y < low, low, y);
  y = select(y > high, high, y).cast(type);
  y.v.getDefiningOp()->setAttr(kWhole, UnitAttr::get(y.v.getContext()));
  return y;
}

namespace {

/// Splits an integer of at most 8 bits and a sign into 16 high + low.
std::vector<std::pair<Expr, double>> halvesOf(Expr x, bool splits) {
  if (!splits)
    return {{x, 1}};
  Expr sixteenth = x * (1.0 / 16);
  Expr high = floor(sixteenth);
  return {{high, 16}, {x - high * 16, 1}};
}

/// The exact i32 result of the bilinear `product` of f32 integers of magnitude
/// at most 255. Operands are split into halves of their bits if f32 could not
/// represent sums of `terms` products.
FailureOr<Expr> exactProduct(const Node &n, Expr x, Expr w, int64_t terms,
                             llvm::function_ref<Value(Expr, Expr)> product) {
  constexpr int64_t kExact = int64_t(1) << 24; // integers exact in f32
  const bool splitsW = terms * 255 * 255 >= kExact;
  const bool splitsX = terms * 255 * 16 >= kExact;
  if (terms * 16 * 16 >= kExact)
    return n.fail("a sum of {} products of integers is not supported, expected "
                  "less than 65536",
                  terms);
  std::optional<Expr> sum;
  for (auto [p, fp] : halvesOf(x, splitsX))
    for (auto [q, fq] : halvesOf(w, splitsW)) {
      DLC_GET(Value part, product(p, q));
      Expr y = n.expr(part).cast(n.b.getI32Type());
      if (fp * fq != 1)
        y = y * (fp * fq);
      sum = sum ? *sum + y : y;
    }
  return *sum;
}

/// Sets output 0 to round(sum * scale / input `yScale`) + input `yZero`, as
/// integers of yZero's type.
LogicalResult requantized(const Node &n, Expr sum, Value scale, size_t yScale,
                          size_t yZero) {
  DLC_GET(auto s, input(n, yScale));
  DLC_GET(auto zero, input(n, yZero));
  DLC_GET(auto range, integerRange(n, n.onnxType(yZero)));
  const Type f32 = n.b.getF32Type();
  DLC_GET(Value factor, n.make<ir::DivOp>(scale, s.v));
  DLC_GET(Value y, n.make<ir::MulOp>(sum.cast(f32).v, n.cast(factor, f32)));
  Expr point = zero.cast(f32);
  if (shapeOf(zero) == Shape{1})
    point = point.reshape({});
  if (!broadcastsTo(shapeOf(point), shapeOf(y)))
    return n.fail("a zero point of shape {} for a result of shape {}",
                  shapeOf(zero), shapeOf(y));
  return n.result(quantized(n.expr(y), point, range, zero.element()));
}

/// A scale or zero point, broadcast to x: per tensor, per slice of the axis, or
/// per block along it.
FailureOr<Expr> spread(const Node &n, Expr e, const Shape &x) {
  const Shape shape = shapeOf(e);
  if (shape.empty() || shape == Shape{1})
    return e.reshape({});
  DLC_GET(auto axis, n.axis("axis", 1, x.size()));
  const int64_t block = n.integer("block_size", 0), size = x[axis];
  if (shape == Shape{size})
    return e.reshape(lineShape(x.size(), axis, size));
  Shape blocks = x;
  if (block > 0 && block <= size)
    blocks[axis] = (size + block - 1) / block;
  if (block < 1 || block > size || shape != blocks)
    return n.fail("a scale or zero point of shape {} for a tensor of shape {}, "
                  "axis {} and block_size {}",
                  shape, x, axis, block);
  Shape split = blocks, filled = x, merged = x;
  split.insert(split.begin() + axis + 1, 1);
  filled = split;
  filled[axis + 1] = block;
  merged[axis] = blocks[axis] * block;
  Expr all = e.reshape(split).broadcast(filled).reshape(merged);
  return part(all, axis, 0, size);
}

/// Input `i` broadcast to x, as `type`; 0 if omitted.
FailureOr<Expr> zeroPointOf(const Node &n, size_t i, const Shape &x,
                            Type type) {
  if (!n.has(i))
    return filled(n, {}, type, 0);
  DLC_GET(auto given, input(n, i));
  DLC_GET(auto zero, spread(n, given, x));
  return zero.cast(type);
}

/// The type in an attribute; `otherwise` if it is absent or 0.
FailureOr<Type> typeNamed(const Node &n, const char *attribute,
                          Type otherwise) {
  const int64_t given = n.integer(attribute, 0);
  if (given == 0)
    return otherwise;
  if (auto dtype = toDType(int(given)))
    return toMlir(*dtype, n.b.getContext());
  return n.fail("{} {} is not supported", attribute, onnxTypeName(int(given)));
}

LogicalResult quantizeLinear(const Node &n, Expr x, Expr s) {
  const Shape shape = shapeOf(x);
  DLC_GET(auto precision, typeNamed(n, "precision", s.element()));
  const int64_t otherwise = n.has(2) ? n.onnxType(2) : onnx::TensorProto::UINT8;
  const int64_t named = n.integer("output_dtype", 0);
  const int to = int(named ? named : otherwise);
  DLC_GET(auto scale, spread(n, s, shape));
  Expr scaled = x.cast(precision) / scale.cast(precision);
  DLC_GET(auto zero, zeroPointOf(n, 2, shape, ir::wideType(precision)));
  if (smallFloat(to)) {
    Expr y = wide(scaled) + zero;
    Value small = narrowed(n, y, to, n.integer("saturate", 1));
    return n.result(n.cast(small, n.b.getF32Type()));
  }
  DLC_GET(auto range, integerRange(n, to));
  Type type = toMlir(*toDType(to), n.b.getContext());
  return n.result(quantized(scaled, zero, range, type));
}

LogicalResult dequantizeLinear(const Node &n, Expr x, Expr s) {
  const Shape shape = shapeOf(x);
  if (auto cast = x.v.getDefiningOp<ir::CastOp>();
      cast && cast->hasAttr(kWhole))
    x.v = cast.getX();
  // Differences with a zero point are exact in this type.
  const Type computed = ir::wideType(s.element());
  DLC_GET(auto scale, spread(n, s, shape));
  DLC_GET(auto zero, zeroPointOf(n, 2, shape, computed));
  DLC_GET(auto type, typeNamed(n, "output_dtype", s.element()));
  return n.result(
      ((x.cast(computed) - zero) * scale.cast(computed)).cast(type));
}

/// ai.dlc.LearnedScale(s, x): s, a trained scale of x. Multiplies its gradient,
/// a sum over x, by 1 / sqrt(N * high), so that relative updates of s and of
/// weights have similar size; N is the number of elements of x per sample and
/// element of s (Esser et al., Learned Step Size Quantization, 2020).
LogicalResult learnedScale(const Node &n, Expr s, Expr x) {
  double count =
      double(x.type().getNumElements()) / double(s.type().getNumElements());
  if (!n.integer("of_weight", 0) && x.rank())
    count /= double(x.shape()[0]);
  const double high = double(n.integer("high", 127));
  const double factor = 1 / std::sqrt(std::max(count, 1.0) * high);
  return n.result(
      s.make<ir::ScaleGradientOp>(s.v, n.b.getF64FloatAttr(factor)));
}

/// Quantises to u8, with the range of x extended to 0.
LogicalResult dynamicQuantizeLinear(const Node &n, Expr x) {
  Expr zero = x.scalar(0);
  auto all = ir::axesBetween(0, x.rank());
  auto extremum = [&](auto over) { return all.empty() ? x : over(); };
  Expr high = maximum(extremum([&] { return x.max(all); }), zero);
  Expr low = minimum(extremum([&] { return x.min(all); }), zero);
  Expr width = high - low;
  Expr safe = select(width == zero, 1, width);
  Expr scale = safe / 255;
  const IntegerRange range{0, 255};
  Type type = toMlir(DType::U8, n.b.getContext());
  Expr middle = quantized(-low / scale, zero, range, type);
  Expr point = middle.cast(x.element());
  DLC_CHECK(n.result(1, scale));
  DLC_CHECK(n.result(2, middle));
  return n.result(quantized(x / scale, point, range, type));
}

/// Input `i` of a product as f32 minus its zero point, input `zero`, which may
/// be per row or column.
FailureOr<Expr> centred(const Node &n, size_t i, size_t zero, bool perRow) {
  DLC_GET(auto x, input(n, i));
  if (x.rank() < 2)
    return n.fail("operands of rank {} are not supported, expected at least 2",
                  x.rank());
  const Type f32 = n.b.getF32Type();
  if (!n.has(zero))
    return x.cast(f32);
  DLC_GET(auto point, input(n, zero));
  if (perRow && point.rank() == 1 && point.shape()[0] != 1)
    point = unsqueezed(point, 1);
  if (!broadcastsTo(shapeOf(point), shapeOf(x)))
    return n.fail("a zero point of shape {} for an operand of shape {}",
                  n.shape(zero), shapeOf(x));
  return x.cast(f32) - point.cast(f32);
}

FailureOr<Expr> integerMatmul(const Node &n, size_t a, size_t aZero, size_t b,
                              size_t bZero) {
  DLC_GET(auto x, centred(n, a, aZero, true));
  DLC_GET(auto w, centred(n, b, bZero, false));
  return exactProduct(n, x, w, x.shape().back(),
                      [&](Expr p, Expr q) { return n.matmul(p, q); });
}

LogicalResult matmulInteger(const Node &n) {
  DLC_GET(auto y, integerMatmul(n, 0, 2, 1, 3));
  return n.result(y);
}

LogicalResult qLinearMatmul(const Node &n) {
  DLC_GET(auto y, integerMatmul(n, 0, 2, 3, 5));
  DLC_GET(auto a, input(n, 1));
  DLC_GET(auto b, input(n, 4));
  if (a.rank() == 1 && a.shape()[0] != 1)
    a = unsqueezed(a, 1);
  return requantized(n, y, n.make<ir::MulOp>(a.v, b.v), 6, 7);
}

/// Input `i` as [M, 1...] if it is per output channel.
FailureOr<Expr> perChannel(const Node &n, size_t i, int64_t rank) {
  DLC_GET(auto v, input(n, i));
  const bool isOne = v.rank() != 1 || v.shape()[0] == 1;
  return v.reshape(isOne ? Shape() : lineShape(rank, 0, v.shape()[0]));
}

/// Input `i` as f32 minus its zero point, input `zero`.
FailureOr<Expr> wholeImage(const Node &n, size_t i, size_t zero,
                           bool isWeights) {
  DLC_GET(auto x, input(n, i));
  const Shape shape = shapeOf(x);
  Expr whole = x.cast(n.b.getF32Type());
  if (!n.has(zero))
    return whole;
  const Shape given = n.shape(zero);
  const bool isOne = sizeOf(given) == 1 && given.size() < 2;
  if (!isOne && (!isWeights || shape.empty() || given != Shape{shape[0]}))
    return n.fail("a zero point of shape {} for an operand of shape {}", given,
                  shape);
  DLC_GET(auto point, perChannel(n, zero, shape.size()));
  return whole - point.cast(n.b.getF32Type());
}

FailureOr<Expr> integerConvolution(const Node &n, size_t x, size_t xZero,
                                   size_t w, size_t wZero) {
  DLC_GET(auto image, wholeImage(n, x, xZero, false));
  DLC_GET(auto weights, wholeImage(n, w, wZero, true));
  const Shape shape = shapeOf(weights);
  const int64_t terms =
      shape.empty() ? 0 : sizeOf(shape) / std::max<int64_t>(1, shape[0]);
  return exactProduct(n, image, weights, terms, [&](Expr p, Expr q) {
    return convolution(n, p, q, Value());
  });
}

LogicalResult convInteger(const Node &n) {
  DLC_GET(auto y, integerConvolution(n, 0, 2, 1, 3));
  return n.result(y);
}

LogicalResult qLinearConv(const Node &n) {
  DLC_GET(auto y, integerConvolution(n, 0, 2, 3, 5));
  // The channel dimension precedes the spatial ones.
  const int64_t rank = y.rank() - 1;
  DLC_GET(auto a, input(n, 1));
  DLC_GET(auto b, perChannel(n, 4, rank));
  if (n.has(8)) {
    DLC_GET(auto bias, perChannel(n, 8, rank));
    DLC_GET(Value sum, n.make<ir::AddOp>(y.v, bias.v));
    y = n.expr(sum);
  }
  return requantized(n, y, n.make<ir::MulOp>(a.reshape({}).v, b.v), 6, 7);
}

} // namespace

void addQuantizeRows(Rows &rows) {
  rows["ai.dlc.LearnedScale"] = ofInputs<learnedScale>;
  rows["QuantizeLinear"] = ofInputs<quantizeLinear>;
  rows["DequantizeLinear"] = ofInputs<dequantizeLinear>;
  rows["DynamicQuantizeLinear"] = ofInputs<dynamicQuantizeLinear>;
  rows["MatMulInteger"] = matmulInteger;
  rows["QLinearMatMul"] = qLinearMatmul;
  rows["ConvInteger"] = convInteger;
  rows["QLinearConv"] = qLinearConv;
}

} // namespace dlc::import
