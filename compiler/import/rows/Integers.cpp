// SPDX-License-Identifier: Apache-2.0
// Integer and bit ops that have no dlc op, composed of others. Integers wrap in
// the type that stores them.
#include "compiler/import/rows/Build.h"
#include "compiler/import/rows/Quantize.h"
#include "compiler/import/tensor/DataType.h"
#include "compiler/import/tensor/SmallNumbers.h"
#include "onnx-ml.pb.h"
#include "runtime/base/numbers/Packed.h"
#include <bit>
#include <cmath>
#include <map>

using namespace mlir;
using onnx::TensorProto;

namespace dlc::import {
namespace integers {
namespace {

Value zero(const Node &n, Value x) { return n.constant(0, x); }

Value compare(const Node &n, ir::Predicate p, Value a, Value b) {
  return n.make<ir::CompareOp>(p, a, b);
}

bool isFloat(Value x) { return isa<FloatType>(ir::elementType(x)); }

/// (a or b) - (a and b), which does not borrow.
LogicalResult bitwiseXor(const Node &n) {
  Value a = n.in(0), b = n.in(1);
  return n.result(
      n.make<ir::SubOp>(n.make<ir::OrOp>(a, b), n.make<ir::AndOp>(a, b)));
}

LogicalResult bitwiseNot(const Node &n) {
  Value x = n.in(0);
  return n.result(n.make<ir::SubOp>(n.constant(-1, x), x));
}

LogicalResult logicalXor(const Node &n) {
  Value a = n.in(0), b = n.in(1);
  return n.result(compare(n, ir::Predicate::ne, a, b));
}

int64_t widthOf(Value x) { return ir::elementType(x).getIntOrFloatBitWidth(); }

/// Power with `exponent` >= 0; overflow wraps.
Value powerOf(const Node &n, Value base, Value exponent, int64_t bits) {
  Value y = n.constant(1, base), factor = base;
  for (int64_t bit = 0; bit < bits && y; ++bit) {
    Value mask = n.constant(std::ldexp(1.0, int(bit)), exponent);
    Value isSet = compare(n, ir::Predicate::ne,
                          n.make<ir::AndOp>(exponent, mask), zero(n, exponent));
    Value times = n.make<ir::SelectOp>(isSet, factor, n.constant(1, factor));
    y = n.make<ir::MulOp>(y, times);
    if (bit + 1 < bits)
      factor = n.make<ir::MulOp>(factor, factor);
  }
  return y;
}

/// Quotient rounded down, like a shift of a negative number.
Value floorQuotient(const Node &n, Value x, Value by) {
  Value y = n.make<ir::DivOp>(x, by);
  if (widthOf(x) == 8)
    return y;
  Value isRounded = compare(n, ir::Predicate::lt, x, n.make<ir::MulOp>(y, by));
  return n.make<ir::SelectOp>(isRounded, n.make<ir::SubOp>(y, n.constant(1, y)),
                              y);
}

/// Shifts as multiplication or division by a power of two. A negative count, or
/// one of at least the type's width, shifts out all bits.
LogicalResult bitShift(const Node &n) {
  std::string direction = n.text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    return n.fail() << "direction is '" << direction
                    << "', expected LEFT or RIGHT";
  Value x = n.in(0), count = n.in(1);
  if (!x || !count)
    return failure();
  const bool isLeft = direction == "LEFT";
  const int64_t width = widthOf(x);
  // A signed type cannot represent the largest power: all bits are shifted out.
  const int64_t most = width == 8 || isLeft ? width : width - 1;
  Value factor = powerOf(n, n.constant(2, x), count, std::log2(width));
  Value y = isLeft ? n.make<ir::MulOp>(x, factor) : floorQuotient(n, x, factor);
  Value none = zero(n, x);
  if (!isLeft && width != 8)
    none = n.make<ir::SelectOp>(compare(n, ir::Predicate::lt, x, none),
                                n.constant(-1, x), none);
  Value isAll = n.make<ir::OrOp>(
      compare(n, ir::Predicate::ge, count, n.constant(most, count)),
      compare(n, ir::Predicate::lt, count, zero(n, count)));
  return n.result(n.make<ir::SelectOp>(isAll, none, y));
}

/// Remainder of truncated division.
Value remainder(const Node &n, Value a, Value b) {
  Value whole = n.make<ir::MulOp>(n.make<ir::DivOp>(a, b), b);
  return n.make<ir::SubOp>(a, whole);
}

/// The same for floats, with the sign of a: |a| - floor(|a| / |b|) |b|,
/// corrected if rounding made the quotient one too large or small.
Value floatRemainder(const Node &n, Value a, Value b) {
  Value x = n.make<ir::AbsOp>(a), y = n.make<ir::AbsOp>(b);
  Value whole = n.make<ir::FloorOp>(n.make<ir::DivOp>(x, y));
  Value r = n.make<ir::SubOp>(x, n.make<ir::MulOp>(whole, y));
  r = n.make<ir::SelectOp>(compare(n, ir::Predicate::lt, r, zero(n, r)),
                           n.make<ir::AddOp>(r, y), r);
  r = n.make<ir::SelectOp>(compare(n, ir::Predicate::ge, r, y),
                           n.make<ir::SubOp>(r, y), r);
  r = n.make<ir::SelectOp>(compare(n, ir::Predicate::lt, x, y), x, r);
  return n.make<ir::SelectOp>(compare(n, ir::Predicate::lt, a, zero(n, a)),
                              n.make<ir::NegOp>(r), r);
}

/// With fmod the result has the dividend's sign, else the divisor's.
LogicalResult mod(const Node &n) {
  Value a = n.in(0), b = n.in(1);
  if (!a || !b)
    return failure();
  Type element = ir::elementType(a);
  if (ir::isHalf(element)) {
    a = n.cast(a, n.b.getF32Type());
    b = n.cast(b, n.b.getF32Type());
  }
  Value r = isFloat(a) ? floatRemainder(n, a, b) : remainder(n, a, b);
  if (!n.integer("fmod", 0)) {
    Value differ = compare(n, ir::Predicate::ne,
                           compare(n, ir::Predicate::lt, r, zero(n, r)),
                           compare(n, ir::Predicate::lt, b, zero(n, b)));
    Value isLeft = compare(n, ir::Predicate::ne, r, zero(n, r));
    r = n.make<ir::SelectOp>(n.make<ir::AndOp>(isLeft, differ),
                             n.make<ir::AddOp>(r, b), r);
  }
  return n.result(n.cast(r, element));
}

/// For a negative exponent 1 / base^-e, truncated.
Value integerPower(const Node &n, Value base, Value exponent) {
  const bool isSigned = widthOf(exponent) != 8;
  Value isBelow = compare(n, ir::Predicate::lt, exponent, zero(n, exponent));
  Value size = isSigned ? n.make<ir::AbsOp>(exponent) : exponent;
  Value y = powerOf(n, base, size, widthOf(exponent) - isSigned);
  if (!isSigned)
    return y;
  Value isZero = compare(n, ir::Predicate::eq, y, zero(n, y));
  Value divisor = n.make<ir::SelectOp>(isZero, n.constant(1, y), y);
  Value inverse = n.make<ir::SelectOp>(
      isZero, zero(n, y), n.make<ir::DivOp>(n.constant(1, y), divisor));
  return n.make<ir::SelectOp>(isBelow, inverse, y);
}

/// The result has the base's type.
LogicalResult power(const Node &n) {
  Value base = n.in(0), exponent = n.in(1);
  if (!base || !exponent)
    return failure();
  Type element = ir::elementType(base);
  if (isFloat(base))
    return n.result(n.make<ir::PowOp>(base, n.cast(exponent, element)));
  if (isFloat(exponent)) {
    Type wide = n.b.getF64Type();
    return n.result(
        n.cast(n.make<ir::PowOp>(n.cast(base, wide), n.cast(exponent, wide)),
               element));
  }
  const HostTensor *known = n.host(1);
  if (known && known->isSplat() && known->integer(0) >= 0 &&
      known->elements() == 1) {
    const int64_t times = known->integer(0);
    Value y = n.constant(1, base);
    for (int64_t left = times; left; left >>= 1) {
      if (left & 1)
        y = n.make<ir::MulOp>(y, base);
      if (left > 1)
        base = n.make<ir::MulOp>(base, base);
    }
    auto shape = broadcastShapes(n.shape(0), known->shape);
    return shape.ok() ? n.result(n.broadcast(y, *shape))
                      : n.fail(shape.status());
  }
  return n.result(integerPower(n, base, exponent));
}

/// Each sign can be disabled.
LogicalResult isInf(const Node &n) {
  DLC_GET(Value x, n.in(0));
  const bool above = n.integer("detect_positive", 1);
  const bool below = n.integer("detect_negative", 1);
  if (!above && !below)
    return n.result(n.broadcast(n.constant(HostTensor::scalar(DType::Bool, 0)),
                                shapeOf(x)));
  Value tested = above && below ? n.make<ir::AbsOp>(x) : x;
  const double limit = above ? INFINITY : -INFINITY;
  return n.result(compare(n, ir::Predicate::eq, tested, n.constant(limit, x)));
}

//===--- BitCast ----------------------------------------------------------===//

/// Bits of an ONNX type, in whichever type it is stored.
int widthOf(int onnxType, DType held) {
  if (const SmallInteger *small = smallInteger(onnxType))
    return small->bits;
  const Packed *packed = findPacked(onnxTypeName(onnxType));
  return packed ? packed->bits : 8 * int(sizeOf(held));
}

/// A float of at most 8 bits; null for other types.
const Packed *smallFloatOf(int onnxType) {
  const Packed *packed = findPacked(onnxTypeName(onnxType));
  return packed && packed->isFloat ? packed : nullptr;
}

uint64_t bitsOf(const HostTensor &x, int64_t i) {
  switch (x.dtype) {
  case DType::F64:
    return std::bit_cast<uint64_t>(x.number(i));
  case DType::F32:
    return std::bit_cast<uint32_t>(float(x.number(i)));
  case DType::F16:
    return toF16(float(x.number(i)));
  case DType::BF16:
    return toBf16(float(x.number(i)));
  default:
    return uint64_t(x.integer(i));
  }
}

void setBits(HostTensor &y, int64_t i, uint64_t bits) {
  switch (y.dtype) {
  case DType::F64:
    return y.setNumber(i, std::bit_cast<double>(bits));
  case DType::F32:
    return y.setNumber(i, std::bit_cast<float>(uint32_t(bits)));
  case DType::F16:
    return y.setNumber(i, fromF16(uint16_t(bits)));
  case DType::BF16:
    return y.setNumber(i, fromBf16(uint16_t(bits)));
  default:
    return y.setInteger(i, int64_t(bits));
  }
}

/// Bit patterns of a float of at most 8 bits by value; all NaNs have one.
class Codes {
public:
  explicit Codes(const Packed &type) : values(valuesOf(type)) {
    for (size_t code = values.size(); code-- > 0;)
      codes[keyOf(values[code])] = code;
  }
  /// For a representable value.
  uint64_t of(double value) const { return codes.at(keyOf(float(value))); }
  double at(uint64_t code) const { return values[code % values.size()]; }
  size_t size() const { return values.size(); }

private:
  static uint32_t keyOf(float value) {
    return std::bit_cast<uint32_t>(std::isnan(value) ? float(NAN) : value);
  }
  std::vector<float> values;
  std::map<uint32_t, uint64_t> codes;
};

using SomeCodes = std::optional<Codes>;
SomeCodes codesOf(int onnxType) {
  const Packed *type = smallFloatOf(onnxType);
  return type ? SomeCodes(*type) : std::nullopt;
}

Result<HostTensor> castBits(const Node &n, const HostTensor &x, int to,
                            DType dtype) {
  DLC_TRY(n.table.budget().work(uint64_t(x.elements()), "folding a value"));
  DLC_ASSIGN(Lease lease,
             n.table.budget().take(HostTensor::bytesOf(x.elements()),
                                   "folding a value"));
  HostTensor y(dtype, x.shape, std::move(lease));
  const SomeCodes from = codesOf(n.onnxType(0)), into = codesOf(to);
  for (int64_t i = 0, count = y.elements(); i < count; ++i) {
    const uint64_t bits = from ? from->of(x.number(i)) : bitsOf(x, i);
    if (into)
      y.setNumber(i, into->at(bits));
    else
      setBits(y, i, bits);
    if (to == TensorProto::UINT64 && y.integer(i) < 0)
      return badModel("a UINT64 above 2^63 - 1 is not supported");
  }
  return smallInteger(to) ? narrowed(n, y, to, false) : y;
}

Expr sameBits(Expr x, Type element) {
  return x.make<ir::BitCastOp>(x.type().clone(element), x.v);
}
Expr lowBits(Expr x, double mask) {
  return x.make<ir::AndOp>(x.v, x.scalar(mask).v);
}

/// Bit patterns of f32s that the type represents: exponent and fraction are
/// adjacent bits of f32, except for subnormal numbers.
Expr codesOf(const Node &n, const Packed &type, Expr x) {
  const Codes codes(type);
  Expr bits = sameBits(x, n.b.getI32Type()), size = abs(x);
  Expr normal =
      lowBits(bits, double(INT32_MAX)) / std::ldexp(1.0, 23 - type.digits) -
      std::ldexp(127 - type.bias, type.digits);
  const double least = std::ldexp(1.0, 1 - type.bias);
  Expr small = (size / std::ldexp(least, -type.digits)).cast(n.b.getI32Type());
  Expr code = select(compare(ir::Predicate::lt, size, size.scalar(least)),
                     small, normal);
  auto where = [&](ir::Predicate p, Expr b, double value) {
    code =
        select(compare(p, size, b), code.scalar(double(codes.of(value))), code);
  };
  if (type.hasInfinity)
    where(ir::Predicate::eq, size.scalar(INFINITY), INFINITY);
  if (type.isSigned)
    code = code + select(compare(ir::Predicate::lt, bits, bits.scalar(0)),
                         code.scalar(double(codes.size() / 2)), code.scalar(0));
  if (type.hasInfinity || type.hasNan || type.hasOneZero)
    where(ir::Predicate::ne, size, NAN);
  return code;
}

LogicalResult fromCodes(const Node &n, const Packed &type, Expr codes) {
  HostTensor values(DType::F32, {int64_t(1) << type.bits});
  for (auto [code, value] : llvm::enumerate(valuesOf(type)))
    values.setNumber(int64_t(code), value);
  DLC_GET(auto table, known(n, std::move(values), "values"));
  codes = lowBits(codes, (1 << type.bits) - 1);
  return n.result(gathered(table, codes.cast(n.b.getI64Type()), 0));
}

/// Reinterprets the bits of x as integers.
Expr bitsFrom(const Node &n, int onnxType, Expr x, Type word) {
  if (const Packed *small = smallFloatOf(onnxType))
    return codesOf(n, *small, x);
  return isa<FloatType>(x.type().getElementType()) ? sameBits(x, word) : x;
}

LogicalResult bitCast(const Node &n) {
  if (!n.type(0))
    return n.fail() << "input 0 is missing";
  const int from = n.onnxType(0), to = int(n.integer("to", 0));
  const auto dtype = toDType(to);
  if (!dtype)
    return n.fail() << "BitCast to " << onnxTypeName(to) << " is not supported";
  Type held = n.type(0).getElementType(),
       element = toMlir(*dtype, n.b.getContext());
  if (widthOf(from, toDType(held)) != widthOf(to, *dtype))
    return n.fail() << "BitCast of " << onnxTypeName(from) << " to "
                    << onnxTypeName(to) << ", which has another size";
  if (const HostTensor *known = n.host(0)) {
    auto y = castBits(n, *known, to, *dtype);
    return y.ok() ? n.result(0, std::move(*y)) : n.fail(y.status());
  }
  if (to == TensorProto::UINT64 && from != to)
    return n.fail() << "BitCast of " << onnxTypeName(from)
                    << " to UINT64 is not supported where it is not known when "
                       "the model is compiled: numbers above 2^63 - 1 have no "
                       "place in a program";
  Type word = held.isF64() || element.isF64() ? n.b.getI64Type()
                                              : Type(n.b.getI32Type());
  DLC_GET(auto x, input(n, 0));
  Expr bits = bitsFrom(n, from, x, word);
  if (const Packed *small = smallFloatOf(to))
    return fromCodes(n, *small, bits.cast(word));
  if (isa<FloatType>(element))
    return n.result(sameBits(bits.cast(word), element));
  Value y = bits.cast(element);
  return n.result(smallInteger(to) ? narrowed(n, y, to, false) : y);
}

} // namespace
} // namespace integers

void addIntegerRows(Rows &rows) {
  rows["BitwiseAnd"] = [](const Node &n) {
    Value a = n.in(0), b = n.in(1);
    return n.result(n.make<ir::AndOp>(a, b));
  };
  rows["BitwiseOr"] = [](const Node &n) {
    Value a = n.in(0), b = n.in(1);
    return n.result(n.make<ir::OrOp>(a, b));
  };
  rows["BitwiseXor"] = integers::bitwiseXor;
  rows["BitwiseNot"] = integers::bitwiseNot;
  rows["BitShift"] = integers::bitShift;
  rows["BitCast"] = integers::bitCast;
  rows["Xor"] = integers::logicalXor;
  rows["Mod"] = integers::mod;
  rows["Pow"] = integers::power;
  rows["IsInf"] = integers::isInf;
}

} // namespace dlc::import
