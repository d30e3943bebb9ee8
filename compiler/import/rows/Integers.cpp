// SPDX-License-Identifier: Apache-2.0
// Integer and bit ops that have no dlc op, composed of others. Integers wrap in
// the type that stores them.
#include "compiler/import/fold/HostEval.h"
#include "compiler/import/rows/Build.h"
#include "compiler/import/rows/Quantize.h"
#include "compiler/import/tensor/DataType.h"
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

bool isFloat(Expr x) { return isa<FloatType>(x.element()); }

int64_t widthOf(Expr x) { return x.element().getIntOrFloatBitWidth(); }

/// Inputs 0 and 1, whose shapes broadcast.
struct Operands {
  Expr a, b;
};
FailureOr<Operands> operandsOf(const Node &n) {
  DLC_GET(auto a, input(n, 0));
  DLC_GET(auto b, input(n, 1));
  DLC_CHECK(n.checked(broadcastShapes(shapeOf(a), shapeOf(b))));
  return Operands{a, b};
}

template <Expr (*function)(Expr, Expr)> LogicalResult of(const Node &n) {
  DLC_GET(auto x, operandsOf(n));
  return n.result(function(x.a, x.b));
}

/// (a or b) - (a and b), which does not borrow.
Expr bitwiseXor(Expr a, Expr b) { return either(a, b) - both(a, b); }

Expr logicalXor(Expr a, Expr b) { return a != b; }

LogicalResult bitwiseNot(const Node &n, Expr x) { return n.result(-1.0 - x); }

/// Power with `exponent` >= 0; overflow wraps.
Expr powerOf(Expr base, Expr exponent, int64_t bits) {
  Expr y = base.scalar(1), factor = base;
  for (int64_t bit = 0; bit < bits; ++bit) {
    Expr mask = exponent.scalar(std::ldexp(1.0, int(bit)));
    y = y * select(both(exponent, mask) != 0, factor, 1);
    if (bit + 1 < bits)
      factor = factor * factor;
  }
  return y;
}

/// Quotient rounded down, like a shift of a negative number.
Expr floorQuotient(Expr x, Expr by) {
  Expr y = x / by;
  return widthOf(x) == 8 ? y : select(x < y * by, y - 1, y);
}

/// Shifts as multiplication or division by a power of two. A negative count, or
/// one of at least the type's width, shifts out all bits.
LogicalResult bitShift(const Node &n) {
  DLC_GET(const auto direction, n.choice("direction", "", {"LEFT", "RIGHT"}));
  DLC_GET(auto operands, operandsOf(n));
  auto [x, count] = operands;
  const bool isLeft = direction == "LEFT";
  const int64_t width = widthOf(x);
  // A signed type cannot represent the largest power: all bits are shifted out.
  const int64_t most = width == 8 || isLeft ? width : width - 1;
  Expr factor = powerOf(x.scalar(2), count, std::log2(width));
  Expr y = isLeft ? x * factor : floorQuotient(x, factor);
  Expr none = x.scalar(0);
  if (!isLeft && width != 8)
    none = select(x < none, -1, none);
  Expr isAll = either(count >= most, count < 0);
  return n.result(select(isAll, none, y));
}

/// Remainder of truncated division.
Expr remainder(Expr a, Expr b) { return a - a / b * b; }

/// The same for floats, with the sign of a: |a| - floor(|a| / |b|) |b|,
/// corrected if rounding made the quotient one too large or small.
Expr floatRemainder(Expr a, Expr b) {
  // Unlike |a|, this has a gradient at 0.
  Expr x = select(a < 0, -a, a), y = abs(b), quotient = x / y;
  Expr r = x - floor(quotient) * y;
  r = select(r < 0, r + y, r);
  r = select(r >= y, r - y, r);
  r = select(x < y, x, r);
  return select(a < 0, -r, r);
}

/// With fmod the result has the dividend's sign, else the divisor's.
LogicalResult mod(const Node &n) {
  DLC_GET(auto operands, operandsOf(n));
  Expr a = ir::wide(operands.a), b = ir::wide(operands.b);
  Expr r = isFloat(a) ? floatRemainder(a, b) : remainder(a, b);
  if (!n.integer("fmod", 0)) {
    Expr differ = (r < 0) != (b < 0);
    r = select(both(r != 0, differ), r + b, r);
  }
  return n.result(r.cast(operands.a.element()));
}

/// For a negative exponent 1 / base^-e, truncated.
Expr integerPower(Expr base, Expr exponent) {
  const bool isSigned = widthOf(exponent) != 8;
  Expr y = powerOf(base, isSigned ? abs(exponent) : exponent,
                   widthOf(exponent) - isSigned);
  if (!isSigned)
    return y;
  Expr isZero = y == 0;
  Expr inverse = select(isZero, 0, 1.0 / select(isZero, 1, y));
  return select(exponent < 0, inverse, y);
}

/// The result has the base's type.
LogicalResult power(const Node &n) {
  DLC_GET(auto operands, operandsOf(n));
  auto [base, exponent] = operands;
  Type element = base.element();
  if (isFloat(base))
    return n.result(pow(base, exponent.cast(element)));
  if (isFloat(exponent)) {
    Type wide = n.b.getF64Type();
    return n.result(pow(base.cast(wide), exponent.cast(wide)).cast(element));
  }
  const HostTensor *known = n.host(1);
  if (!known || known->elements() != 1 || known->integer(0) < 0)
    return n.result(integerPower(base, exponent));
  Expr y = base.scalar(1);
  for (int64_t left = known->integer(0); left; left >>= 1) {
    if (left & 1)
      y = y * base;
    if (left > 1)
      base = base * base;
  }
  return n.result(y.broadcast(*broadcastShapes(n.shape(0), known->shape)));
}

/// Each sign can be disabled.
LogicalResult isInf(const Node &n, Expr x) {
  const bool above = n.integer("detect_positive", 1);
  const bool below = n.integer("detect_negative", 1);
  if (!above && !below)
    return n.result(filled(n, shapeOf(x), n.b.getI1Type(), 0));
  Expr tested = above && below ? abs(x) : x;
  return n.result(tested == (above ? INFINITY : -INFINITY));
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
  HostCall call{n, {&x}, n.table.budget()};
  DLC_ASSIGN(HostTensor y, call.make(dtype, x.shape));
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
  Expr code = select(size < least, small, normal);
  auto where = [&](ir::Predicate p, Expr b, double value) {
    code = select(compare(p, size, b), codes.of(value), code);
  };
  if (type.hasInfinity)
    where(ir::Predicate::eq, size.scalar(INFINITY), INFINITY);
  if (type.isSigned)
    code = code + select(bits < 0, code.scalar(double(codes.size() / 2)),
                         code.scalar(0));
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
  return isa<FloatType>(x.element()) ? sameBits(x, word) : x;
}

LogicalResult bitCast(const Node &n) {
  if (!n.type(0))
    return n.fail("input 0 is missing");
  const int from = n.onnxType(0), to = int(n.integer("to", 0));
  const auto dtype = toDType(to);
  if (!dtype)
    return n.fail("BitCast to {} is not supported", onnxTypeName(to));
  Type held = n.type(0).getElementType(),
       element = toMlir(*dtype, n.b.getContext());
  if (widthOf(from, toDType(held)) != widthOf(to, *dtype))
    return n.fail("BitCast of {} to {}, which has another size",
                  onnxTypeName(from), onnxTypeName(to));
  if (const HostTensor *known = n.host(0)) {
    auto y = castBits(n, *known, to, *dtype);
    return y.ok() ? n.result(0, std::move(*y)) : n.fail(y.status());
  }
  if (to == TensorProto::UINT64 && from != to)
    return n.fail("BitCast of {} to UINT64 is not supported where it is not "
                  "known when the model is compiled: numbers above 2^63 - 1 "
                  "have no place in a program",
                  onnxTypeName(from));
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
  rows["BitwiseAnd"] = integers::of<ir::both>;
  rows["BitwiseOr"] = integers::of<ir::either>;
  rows["BitwiseXor"] = integers::of<integers::bitwiseXor>;
  rows["BitwiseNot"] = ofInputs<integers::bitwiseNot>;
  rows["BitShift"] = integers::bitShift;
  rows["BitCast"] = integers::bitCast;
  rows["Xor"] = integers::of<integers::logicalXor>;
  rows["Mod"] = integers::mod;
  rows["Pow"] = integers::power;
  rows["IsInf"] = ofInputs<integers::isInf>;
}

} // namespace dlc::import
