// SPDX-License-Identifier: Apache-2.0
// Quantisation and integer products. Gradients of quantised and dequantised
// values are straight-through, except where they were clipped.
#include "compiler/import/rows/Quantize.h"
#include "compiler/import/rows/Build.h"
#include "compiler/import/rows/image/Window.h"
#include "compiler/import/tensor/DataType.h"
#include "compiler/import/tensor/SmallNumbers.h"
#include "onnx-ml.pb.h"

using namespace mlir;

namespace dlc::import {

/// Attribute of casts to integers whose operand has integral values in range.
static constexpr StringRef kWhole = "dlc.whole";

FailureOr<IntegerRange> integerRange(const Node &n, int onnxType) {
  if (onnxType == onnx::TensorProto::UINT8)
    return IntegerRange{0, 255};
  const SmallInteger *integer = smallInteger(onnxType);
  if (!integer || integer->bits > 16)
    return n.fail() << "quantisation to " << onnxTypeName(onnxType)
                    << " is not supported, expected integers of at most 16 "
                       "bits or floats of at most 8 that have a sign";
  const double count = std::ldexp(1.0, integer->bits);
  if (integer->isSigned)
    return IntegerRange{-count / 2, count / 2 - 1};
  return IntegerRange{0, count - 1};
}

Expr quantized(Expr scaled, Expr zeroPoint, IntegerRange range, Type type) {
  Expr whole = scaled.make<ir::RoundOp>(scaled.v);
  whole.v.getDefiningOp()->setAttr(ir::kStraightThrough,
                                   UnitAttr::get(whole.v.getContext()));
  whole = wide(whole);
  Expr y = whole + zeroPoint.cast(whole.type().getElementType());
  Expr low = y.scalar(range.low), high = y.scalar(range.high);
  y = select(compare(ir::Predicate::lt, y, low), low, y);
  y = select(compare(ir::Predicate::gt, y, high), high, y).cast(type);
  y.v.getDefiningOp()->setAttr(kWhole, UnitAttr::get(y.v.getContext()));
  return y;
}

namespace {

/// A scale or zero point, broadcast to x: per tensor, per slice of the axis, or
/// per block along it.
FailureOr<Expr> spread(const Node &n, Value v, const Shape &x) {
  Expr e(n.b, n.loc, v);
  Shape shape = shapeOf(v);
  if (shape.empty() || shape == Shape{1})
    return e.reshape({});
  DLC_GET(auto axis, n.axis("axis", 1, x.size()));
  const int64_t block = n.integer("block_size", 0), size = x[axis];
  if (shape == Shape{size}) {
    Shape kept(x.size(), 1);
    kept[axis] = size;
    return e.reshape(kept);
  }
  Shape blocks = x;
  if (block > 0 && block <= size)
    blocks[axis] = (size + block - 1) / block;
  if (block < 1 || block > size || shape != blocks)
    return n.fail() << "a scale or zero point of shape " << toString(shape)
                    << " for a tensor of shape " << toString(x) << ", axis "
                    << axis << " and block_size " << block;
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
    return Expr(n.b, n.loc, n.constant(HostTensor::scalar(toDType(type), 0)));
  DLC_GET(Value v, n.in(i));
  auto zero = spread(n, v, x);
  return failed(zero) ? zero : FailureOr<Expr>(zero->cast(type));
}

/// f32 for 16-bit floats, so that differences with a zero point are exact.
Type wideType(Type type) {
  return ir::isHalf(type) ? Float32Type::get(type.getContext()) : type;
}

/// The type in an attribute; `otherwise` if it is absent or 0.
FailureOr<Type> typeNamed(const Node &n, const char *attribute,
                          Type otherwise) {
  const int64_t given = n.integer(attribute, 0);
  if (given == 0)
    return otherwise;
  if (auto dtype = toDType(int(given)))
    return toMlir(*dtype, n.b.getContext());
  return n.fail() << attribute << " " << onnxTypeName(int(given))
                  << " is not supported";
}

LogicalResult quantizeLinear(const Node &n) {
  Value x = n.in(0), s = n.in(1);
  if (!x || !s)
    return failure();
  Shape shape = shapeOf(x);
  auto precision = typeNamed(n, "precision", ir::elementType(s));
  const int64_t otherwise = n.has(2) ? n.onnxType(2) : onnx::TensorProto::UINT8;
  const int64_t named = n.integer("output_dtype", 0);
  const int to = int(named ? named : otherwise);
  auto scale = spread(n, s, shape);
  if (failed(precision) || failed(scale))
    return failure();
  Expr scaled = Expr(n.b, n.loc, x).cast(*precision) / scale->cast(*precision);
  DLC_GET(auto zero, zeroPointOf(n, 2, shape, wideType(*precision)));
  if (smallFloat(to)) {
    Expr y = wide(scaled) + zero;
    Value small = narrowed(n, y, to, n.integer("saturate", 1));
    return n.result(n.cast(small, n.b.getF32Type()));
  }
  DLC_GET(auto range, integerRange(n, to));
  Type type = toMlir(*toDType(to), n.b.getContext());
  return n.result(quantized(scaled, zero, range, type));
}

LogicalResult dequantizeLinear(const Node &n) {
  Value x = n.in(0), s = n.in(1);
  if (!x || !s)
    return failure();
  Shape shape = shapeOf(x);
  Type precision = ir::elementType(s);
  if (auto cast = x.getDefiningOp<ir::CastOp>(); cast && cast->hasAttr(kWhole))
    x = cast.getX();
  Type computed = wideType(precision);
  DLC_GET(auto scale, spread(n, s, shape));
  DLC_GET(auto zero, zeroPointOf(n, 2, shape, computed));
  DLC_GET(auto type, typeNamed(n, "output_dtype", precision));
  Expr y =
      (Expr(n.b, n.loc, n.cast(x, computed)) - zero) * scale.cast(computed);
  return n.result(y.cast(type));
}

/// ai.dlc.LearnedScale(s, x): s, a trained scale of x. Multiplies its gradient,
/// a sum over x, by 1 / sqrt(N * high), so that relative updates of s and of
/// weights have similar size; N is the number of elements of x per sample and
/// element of s (Esser et al., Learned Step Size Quantization, 2020).
LogicalResult learnedScale(const Node &n) {
  Value s = n.in(0), x = n.in(1);
  if (!s || !x)
    return failure();
  auto elements = [](Value v) {
    return double(cast<ShapedType>(v.getType()).getNumElements());
  };
  const Shape shape = shapeOf(x);
  double count = elements(x) / elements(s);
  if (!n.integer("of_weight", 0) && !shape.empty())
    count /= double(shape[0]);
  const double high = double(n.integer("high", 127));
  const double factor = 1 / std::sqrt(std::max(count, 1.0) * high);
  return n.result(n.make<ir::ScaleGradientOp>(s, n.b.getF64FloatAttr(factor)));
}

/// Quantises to u8, with the range of x extended to 0.
LogicalResult dynamicQuantizeLinear(const Node &n) {
  DLC_GET(Value input, n.in(0));
  Expr x(n.b, n.loc, input), zero = x.scalar(0);
  auto all = ir::axesBetween(0, x.rank());
  auto extremum = [&](auto over) { return all.empty() ? x : over(); };
  Expr high = maximum(extremum([&] { return x.max(all); }), zero);
  Expr low = minimum(
      extremum([&] { return x.make<ir::ReduceMinOp>(x.v, all, false); }), zero);
  Expr width = high - low;
  Expr safe =
      select(compare(ir::Predicate::eq, width, zero), x.scalar(1), width);
  Expr scale = safe / 255;
  const IntegerRange range{0, 255};
  Type type = toMlir(DType::U8, n.b.getContext());
  Expr middle = quantized(-low / scale, zero, range, type);
  Expr point = middle.cast(x.type().getElementType());
  if (failed(n.result(1, scale)) || failed(n.result(2, middle)))
    return failure();
  return n.result(quantized(x / scale, point, range, type));
}

/// Input `i` of a product as f32 minus its zero point, input `zero`, which may
/// be per row or column.
FailureOr<Expr> centred(const Node &n, size_t i, size_t zero, bool perRow) {
  DLC_GET(Value x, n.in(i));
  if (shapeOf(x).size() < 2)
    return n.fail() << "operands of rank " << shapeOf(x).size()
                    << " are not supported, expected at least 2";
  Type f32 = n.b.getF32Type();
  Value whole = n.cast(x, f32);
  if (!n.has(zero))
    return Expr(n.b, n.loc, whole);
  DLC_GET(Value point, n.in(zero));
  Shape shape = shapeOf(point);
  if (perRow && shape.size() == 1 && shape[0] != 1)
    point = n.reshape(point, {shape[0], 1});
  DLC_GET(Value y, n.make<ir::SubOp>(whole, n.cast(point, f32)));
  if (shapeOf(y) != shapeOf(x))
    return n.fail() << "a zero point of shape " << toString(shape)
                    << " for an operand of shape " << toString(shapeOf(x));
  return Expr(n.b, n.loc, y);
}

FailureOr<Expr> integerMatmul(const Node &n, size_t a, size_t aZero, size_t b,
                              size_t bZero) {
  DLC_GET(auto x, centred(n, a, aZero, true));
  DLC_GET(auto w, centred(n, b, bZero, false));
  return exactProduct(n, x, w, x.shape().back(), [&](Expr p, Expr q) {
    return n.make<ir::MatmulOp>(p.v, q.v, Value(), false, false, StringAttr());
  });
}

LogicalResult matmulInteger(const Node &n) {
  DLC_GET(auto y, integerMatmul(n, 0, 2, 1, 3));
  return n.result(y);
}

LogicalResult qLinearMatmul(const Node &n) {
  auto y = integerMatmul(n, 0, 2, 3, 5);
  Value a = n.in(1), b = n.in(4);
  if (failed(y) || !a || !b)
    return failure();
  if (shapeOf(a).size() == 1 && shapeOf(a)[0] != 1)
    a = n.reshape(a, {shapeOf(a)[0], 1});
  return requantized(n, *y, n.make<ir::MulOp>(a, b), 6, 7);
}

/// Input `i` as [M, 1...] if it is per output channel.
Value perChannel(const Node &n, size_t i, size_t rank) {
  Value v = n.in(i);
  if (!v || shapeOf(v).size() != 1 || shapeOf(v)[0] == 1)
    return v ? n.reshape(v, {}) : v;
  Shape shape(rank, 1);
  shape[0] = shapeOf(v)[0];
  return n.reshape(v, shape);
}

/// Input `i` as f32 minus its zero point, input `zero`.
FailureOr<Expr> wholeImage(const Node &n, size_t i, size_t zero,
                           bool isWeights) {
  DLC_GET(Value x, n.in(i));
  const Shape shape = shapeOf(x);
  Expr whole = Expr(n.b, n.loc, x).cast(n.b.getF32Type());
  if (!n.has(zero))
    return whole;
  const Shape given = n.shape(zero);
  const bool isOne = sizeOf(given) == 1 && given.size() < 2;
  if (!isOne && (!isWeights || shape.empty() || given != Shape{shape[0]}))
    return n.fail() << "a zero point of shape " << toString(given)
                    << " for an operand of shape " << toString(shape);
  DLC_GET(Value point, perChannel(n, zero, shape.size()));
  return whole - Expr(n.b, n.loc, point).cast(n.b.getF32Type());
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
  auto y = integerConvolution(n, 0, 2, 1, 3);
  return failed(y) ? failure() : n.result(*y);
}

LogicalResult qLinearConv(const Node &n) {
  auto y = integerConvolution(n, 0, 2, 3, 5);
  Value a = n.in(1), b = n.in(4);
  if (failed(y) || !a || !b)
    return failure();
  // The channel dimension precedes the spatial ones.
  const size_t rank = size_t(y->rank()) - 1;
  if (n.has(8)) {
    DLC_GET(Value bias, perChannel(n, 8, rank));
    y = Expr(n.b, n.loc, n.make<ir::AddOp>(y->v, bias));
  }
  Value scale = n.make<ir::MulOp>(n.reshape(a, {}), perChannel(n, 4, rank));
  return requantized(n, *y, scale, 6, 7);
}

/// Splits an integer of at most 8 bits and a sign into 16 high + low.
std::vector<std::pair<Expr, double>> halvesOf(Expr x, bool splits) {
  if (!splits)
    return {{x, 1}};
  Expr sixteenth = x * (1.0 / 16);
  Expr high = sixteenth.make<ir::FloorOp>(sixteenth.v);
  return {{high, 16}, {x - high * 16, 1}};
}

} // namespace

FailureOr<Expr> exactProduct(const Node &n, Expr x, Expr w, int64_t terms,
                             llvm::function_ref<Value(Expr, Expr)> product) {
  constexpr int64_t kExact = int64_t(1) << 24; // integers exact in f32
  const bool splitsW = terms * 255 * 255 >= kExact;
  const bool splitsX = terms * 255 * 16 >= kExact;
  if (terms * 16 * 16 >= kExact)
    return n.fail() << "a sum of " << terms
                    << " products of integers is not supported, expected less "
                       "than 65536";
  std::optional<Expr> sum;
  for (auto [p, fp] : halvesOf(x, splitsX))
    for (auto [q, fq] : halvesOf(w, splitsW)) {
      DLC_GET(Value part, product(p, q));
      Expr y = Expr(n.b, n.loc, part).cast(n.b.getI32Type());
      if (fp * fq != 1)
        y = y * (fp * fq);
      sum = sum ? *sum + y : y;
    }
  return *sum;
}

LogicalResult requantized(const Node &n, Expr sum, Value scale, size_t yScale,
                          size_t yZero) {
  Value s = n.in(yScale), zero = n.in(yZero);
  if (!s || !zero || !scale)
    return failure();
  Value factor = n.make<ir::DivOp>(scale, s);
  Type type = ir::elementType(zero), f32 = n.b.getF32Type();
  auto range = integerRange(n, n.onnxType(yZero));
  Value y = n.make<ir::MulOp>(sum.cast(f32).v, n.cast(factor, f32));
  if (failed(range) || !y)
    return failure();
  Expr point = Expr(n.b, n.loc, zero).cast(f32);
  if (shapeOf(zero) == Shape{1})
    point = point.reshape({});
  auto shape = broadcastShapes(shapeOf(y), shapeOf(point.v));
  if (!shape.ok() || *shape != shapeOf(y))
    return n.fail() << "a zero point of shape " << toString(shapeOf(zero))
                    << " for a result of shape " << toString(shapeOf(y));
  return n.result(quantized(Expr(n.b, n.loc, y), point, *range, type));
}

void addQuantizeRows(Rows &rows) {
  rows["ai.dlc.LearnedScale"] = learnedScale;
  rows["QuantizeLinear"] = quantizeLinear;
  rows["DequantizeLinear"] = dequantizeLinear;
  rows["DynamicQuantizeLinear"] = dynamicQuantizeLinear;
  rows["MatMulInteger"] = matmulInteger;
  rows["QLinearMatMul"] = qLinearMatmul;
  rows["ConvInteger"] = convInteger;
  rows["QLinearConv"] = qLinearConv;
}

} // namespace dlc::import
