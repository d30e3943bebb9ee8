// SPDX-License-Identifier: Apache-2.0
#include "compiler/dialect/float8/Float8.h"
#include "compiler/dialect/Infer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

using namespace mlir;

#define GET_OP_CLASSES
#include "compiler/dialect/Float8.cpp.inc"

namespace dlc::ir {
namespace {

const Float8Format kFormats[] = {{"e4m3", 3, 7, 0x7e, 448},
                                 {"e5m2", 2, 15, 0x7b, 57344}};
/// Bits of the mantissa and bias of the exponent of f32.
constexpr int kMantissa = 23, kBias = 127;
/// Of both formats: the code of NaN, and the sign.
constexpr int kNaN = 0x7f, kSign = 0x80;

/// Builds scalar arithmetic on f32 and i32.
struct Scalar {
  OpBuilder &b;
  Location loc;

  Type i32() const { return b.getI32Type(); }
  Type f32() const { return b.getF32Type(); }
  template <class Op, class... Args> Value make(Args... args) const {
    return Op::create(b, loc, args...);
  }
  Value integer(int64_t c) const {
    return make<arith::ConstantOp>(b.getI32IntegerAttr(int32_t(c)));
  }
  Value number(double c) const {
    return make<arith::ConstantOp>(b.getF32FloatAttr(float(c)));
  }
  Value bits(Value x) const { return make<arith::BitcastOp>(i32(), x); }
  Value ofBits(Value x) const { return make<arith::BitcastOp>(f32(), x); }
  Value add(Value x, int64_t c) const {
    return make<arith::AddIOp>(x, integer(c));
  }
  Value mask(Value x, int64_t c) const {
    return make<arith::AndIOp>(x, integer(c));
  }
  Value shiftDown(Value x, int64_t c) const {
    return make<arith::ShRUIOp>(x, integer(c));
  }
  Value shiftUp(Value x, int64_t c) const {
    return make<arith::ShLIOp>(x, integer(c));
  }
  Value choose(Value condition, Value x, Value y) const {
    return make<arith::SelectOp>(condition, x, y);
  }
};

/// The lowest exponent of normal values.
int lowestExponent(const Float8Format &f) { return 1 - f.bias; }

/// Above the subnormal values, the upper bits of an f32 are the code, but for
/// the exponent's bias. Subnormal values are the multiples of one number:
/// adding a power of two whose last bit is that number rounds to them.
Value encode(Scalar s, Value x, const Float8Format &f) {
  const int dropped = kMantissa - f.mantissa;
  Value bits = s.bits(x);
  Value size = s.ofBits(s.mask(bits, 0x7fffffff));
  auto compare = [&](arith::CmpFPredicate p, Value l, Value r) {
    return s.make<arith::CmpFOp>(p, l, r);
  };
  size = s.choose(compare(arith::CmpFPredicate::OGT, size, s.number(f.largest)),
                  s.number(f.largest), size);
  Value sizeBits = s.bits(size);
  Value isOdd = s.mask(s.shiftDown(sizeBits, dropped), 1);
  Value rounded = s.make<arith::AddIOp>(
      s.add(sizeBits, (int64_t(1) << (dropped - 1)) - 1), isOdd);
  Value normal = s.add(s.shiftDown(rounded, dropped),
                       -(int64_t(kBias - f.bias) << f.mantissa));
  const int last = lowestExponent(f) - f.mantissa; // exponent of the last bit
  Value offset = s.number(std::ldexp(1, last + kMantissa));
  Value subnormal = s.make<arith::SubIOp>(
      s.bits(s.make<arith::AddFOp>(size, offset)), s.bits(offset));
  Value isSubnormal = compare(arith::CmpFPredicate::OLT, size,
                              s.number(std::ldexp(1, lowestExponent(f))));
  Value code = s.make<arith::OrIOp>(s.choose(isSubnormal, subnormal, normal),
                                    s.mask(s.shiftDown(bits, 24), kSign));
  Value isNaN = compare(arith::CmpFPredicate::UNO, x, x);
  code = s.choose(isNaN, s.integer(kNaN), code);
  return s.make<arith::TruncIOp>(s.b.getI8Type(), code);
}

/// Subnormal values are products, as devices may flush f32's subnormal ones.
Value decode(Scalar s, Value x, const Float8Format &f) {
  Value code = s.make<arith::ExtUIOp>(s.i32(), x);
  Value size = s.mask(code, 0x7f);
  auto compare = [&](arith::CmpIPredicate p, int64_t c) {
    return s.make<arith::CmpIOp>(p, size, s.integer(c));
  };
  Value normal = s.add(s.shiftUp(size, kMantissa - f.mantissa),
                       int64_t(kBias - f.bias) << kMantissa);
  Value subnormal = s.bits(s.make<arith::MulFOp>(
      s.make<arith::SIToFPOp>(s.f32(), size),
      s.number(std::ldexp(1, lowestExponent(f) - f.mantissa))));
  Value value =
      s.choose(compare(arith::CmpIPredicate::ult, int64_t(1) << f.mantissa),
               subnormal, normal);
  constexpr int64_t kInfinityBits = 0x7f800000, kNaNBits = 0x7fc00000;
  Value beyond = s.integer(kNaNBits);
  if (f.largestCode + 1 < 0x7d) // then infinity
    beyond = s.choose(compare(arith::CmpIPredicate::eq, f.largestCode + 1),
                      s.integer(kInfinityBits), beyond);
  value = s.choose(compare(arith::CmpIPredicate::ugt, f.largestCode), beyond,
                   value);
  Value sign = s.shiftUp(s.mask(code, kSign), 24);
  return s.ofBits(s.make<arith::OrIOp>(value, sign));
}

} // namespace

const Float8Format *float8Format(StringRef name) {
  for (const Float8Format &format : kFormats)
    if (format.name == name)
      return &format;
  return nullptr;
}

LogicalResult checkFloat8Format(std::optional<Location> loc, StringRef name) {
  return float8Format(name)
             ? success()
             : emitOptionalError(
                   loc, "(C1) expected format e4m3 or e5m2, found ", name);
}

SmallVector<Value> Float8EncodeOp::buildBody(OpBuilder &builder,
                                             ValueRange scalars) {
  return {encode({builder, getLoc()}, scalars[0], *float8Format(getFormat()))};
}
SmallVector<Value> Float8DecodeOp::buildBody(OpBuilder &builder,
                                             ValueRange scalars) {
  return {decode({builder, getLoc()}, scalars[0], *float8Format(getFormat()))};
}

LogicalResult ScaledMatmulOp::verify() {
  auto a = tensorType(getA()), b = tensorType(getB());
  if (a.getRank() != 2 || b.getRank() != 2 ||
      a.getDimSize(1) != b.getDimSize(1))
    return emitOpError(
               "(C1) expected matrices of one number of columns, found ")
           << a << " and " << b;
  for (Value scale : {getScaleA(), getScaleB()})
    if (tensorType(scale).getRank() != 0)
      return emitOpError("(C2) expected a scalar as scale, found ")
             << scale.getType();
  const int64_t columns = b.getDimSize(0);
  if (Value bias = getBias())
    if (failed(expectShape(getLoc(), "(C3)", bias, {columns})))
      return failure();
  for (StringRef format : {getFormatA(), getFormatB()})
    if (!float8Format(format))
      return emitOpError("(C4) expected format e4m3 or e5m2, found ") << format;
  if (getFormatA() == "e5m2" && getFormatB() == "e5m2")
    return emitOpError("(C4) expected at most one operand of format e5m2");
  if (failed(expectShape(getLoc(), "(C5)", getY(), {a.getDimSize(0), columns})))
    return failure();
  return expectCallOrOps(getLoc(), "(C6)", getBy());
}

int64_t ScaledMatmulOp::countFlops() {
  return 2 * tensorType(getY()).getNumElements() *
         tensorType(getA()).getDimSize(1);
}

void registerFloat8(DlcDialect &dialect) {
  RegisteredOperationName::insert<Float8EncodeOp>(dialect);
  RegisteredOperationName::insert<Float8DecodeOp>(dialect);
  RegisteredOperationName::insert<ScaledMatmulOp>(dialect);
}

} // namespace dlc::ir
