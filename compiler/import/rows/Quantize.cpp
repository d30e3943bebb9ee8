// SPDX-License-Identifier: Apache-2.0
// Quantisation. Gradients of quantised and dequantised values are
// straight-through, except where they were clipped.
#include "compiler/import/rows/Quantize.h"
#include "compiler/import/rows/Build.h"
#include "compiler/import/tensor/DataType.h"
#include "compiler/import/tensor/SmallNumbers.h"
#include "onnx-ml.pb.h"

using namespace mlir;

namespace dlc::import {

/// Attribute of casts to integers whose operand has integral values in range.
static constexpr StringRef kWhole = "dlc.whole";

namespace {

struct IntegerRange {
  double low, high;
};

/// Range of an ONNX integer type; an error for other types.
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

/// round(scaled) + zeroPoint, computed in at least f32 and clamped to the
/// range, as integers of `type`. The gradient is 1 inside of the range, else 0.
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

/// A scale or zero point, broadcast to x: per tensor, per slice of the axis, or
/// per block along it.
FailureOr<Expr> spread(const Node &n, Value v, const Shape &x) {
  Expr e(n.b, n.loc, v);
  Shape shape = shapeOf(v);
  if (shape.empty() || shape == Shape{1})
    return e.reshape({});
  auto axis = n.axis("axis", 1, x.size());
  if (failed(axis))
    return failure();
  const int64_t block = n.integer("block_size", 0), size = x[*axis];
  if (shape == Shape{size}) {
    Shape kept(x.size(), 1);
    kept[*axis] = size;
    return e.reshape(kept);
  }
  Shape blocks = x;
  if (block > 0 && block <= size)
    blocks[*axis] = (size + block - 1) / block;
  if (block < 1 || block > size || shape != blocks)
    return n.fail() << "a scale or zero point of shape " << toString(shape)
                    << " for a tensor of shape " << toString(x) << ", axis "
                    << *axis << " and block_size " << block;
  Shape split = blocks, filled = x, merged = x;
  split.insert(split.begin() + *axis + 1, 1);
  filled = split;
  filled[*axis + 1] = block;
  merged[*axis] = blocks[*axis] * block;
  SliceBounds bounds{Shape(x.size(), 0), x, Shape(x.size(), 1)};
  Value all = e.reshape(split).broadcast(filled).reshape(merged);
  return Expr(n.b, n.loc, n.slice(all, bounds));
}

/// Input `i` broadcast to x, as `type`; 0 if omitted.
FailureOr<Expr> zeroPointOf(const Node &n, size_t i, const Shape &x,
                            Type type) {
  if (!n.has(i))
    return Expr(n.b, n.loc, n.constant(HostTensor::scalar(toDType(type), 0)));
  Value v = n.in(i);
  if (!v)
    return failure();
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
  auto zero = zeroPointOf(n, 2, shape, wideType(*precision));
  if (failed(zero))
    return failure();
  if (smallFloat(to)) {
    Expr y = wide(scaled) + *zero;
    Value small = narrowed(n, y, to, n.integer("saturate", 1));
    return n.result(n.cast(small, n.b.getF32Type()));
  }
  auto range = integerRange(n, to);
  if (failed(range))
    return failure();
  Type type = toMlir(*toDType(to), n.b.getContext());
  return n.result(quantized(scaled, *zero, *range, type));
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
  auto scale = spread(n, s, shape);
  auto zero = zeroPointOf(n, 2, shape, computed);
  auto type = typeNamed(n, "output_dtype", precision);
  if (failed(scale) || failed(zero) || failed(type))
    return failure();
  Expr y =
      (Expr(n.b, n.loc, n.cast(x, computed)) - *zero) * scale->cast(computed);
  return n.result(y.cast(*type));
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

} // namespace

void addQuantizeRows(Rows &rows) {
  rows["ai.dlc.LearnedScale"] = learnedScale;
  rows["QuantizeLinear"] = quantizeLinear;
  rows["DequantizeLinear"] = dequantizeLinear;
}

} // namespace dlc::import
