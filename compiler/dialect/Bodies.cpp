// SPDX-License-Identifier: Apache-2.0
// The scalar body of each elementwise op. 16-bit floats are passed as f32;
// integers and bools in their own type.
#include "compiler/dialect/Dlc.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "runtime/base/numbers/Philox.h"
#include <cmath>

using namespace mlir;
using Scalars = SmallVector<Value>;

namespace dlc::ir {
namespace {

/// A scalar expression: operators emit arith ops of the value's type.
struct S {
  OpBuilder *b;
  Location loc;
  Value v;

  Type type() const { return v.getType(); }
  bool isFloat() const { return isa<FloatType>(type()); }
  S with(Value x) const { return {b, loc, x}; }
  S constant(double c) const {
    TypedAttr attr = isFloat() ? (TypedAttr)b->getFloatAttr(type(), c)
                               : b->getIntegerAttr(type(), (int64_t)c);
    return with(arith::ConstantOp::create(*b, loc, attr));
  }
  template <class OpTy> S unary() const {
    return with(OpTy::create(*b, loc, v));
  }
  template <class F, class I> S binary(S o) const {
    return with(isFloat() ? Value(F::create(*b, loc, v, o.v))
                          : Value(I::create(*b, loc, v, o.v)));
  }
};

S operator+(S a, S b) { return a.binary<arith::AddFOp, arith::AddIOp>(b); }
S operator-(S a, S b) { return a.binary<arith::SubFOp, arith::SubIOp>(b); }
S operator*(S a, S b) { return a.binary<arith::MulFOp, arith::MulIOp>(b); }
/// u8 is the only type of 8 bits.
bool isUnsigned(Type t) { return t.isInteger(1) || t.isInteger(8); }

S operator/(S a, S b) {
  return a.type().isInteger(8) ? a.binary<arith::DivFOp, arith::DivUIOp>(b)
                               : a.binary<arith::DivFOp, arith::DivSIOp>(b);
}
S operator^(S a, S b) {
  return a.with(arith::XOrIOp::create(*a.b, a.loc, a.v, b.v));
}
S operator&(S a, int64_t c) {
  return a.with(arith::AndIOp::create(*a.b, a.loc, a.v, a.constant(c).v));
}
S operator>>(S a, int64_t c) {
  return a.with(arith::ShRUIOp::create(*a.b, a.loc, a.v, a.constant(c).v));
}
S operator+(S a, double c) { return a + a.constant(c); }
S operator-(double c, S a) { return a.constant(c) - a; }
S operator*(S a, double c) { return a * a.constant(c); }
S operator/(double c, S a) { return a.constant(c) / a; }

S compare(Predicate p, S a, S b) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  static const F floats[] = {F::OEQ, F::UNE, F::OLT, F::OLE, F::OGT, F::OGE};
  static const I ints[] = {I::eq, I::ne, I::slt, I::sle, I::sgt, I::sge};
  static const I bytes[] = {I::eq, I::ne, I::ult, I::ule, I::ugt, I::uge};
  int i = (int)p;
  return a.with(
      a.isFloat()
          ? Value(arith::CmpFOp::create(*a.b, a.loc, floats[i], a.v, b.v))
          : Value(arith::CmpIOp::create(
                *a.b, a.loc, a.type().isInteger(8) ? bytes[i] : ints[i], a.v,
                b.v)));
}
S choose(S c, S a, S b) {
  return a.with(arith::SelectOp::create(*a.b, a.loc, c.v, a.v, b.v));
}
S exp(S x) { return x.unary<math::ExpOp>(); }
S log(S x) { return x.unary<math::LogOp>(); }
S sqrt(S x) { return x.unary<math::SqrtOp>(); }
S tanh(S x) { return x.unary<math::TanhOp>(); }
S abs(S x) {
  if (x.type().isInteger(8))
    return x;
  return x.isFloat() ? x.unary<math::AbsFOp>() : x.unary<math::AbsIOp>();
}
S sigmoid(S x) { return 1.0 / (exp(0.0 - x) + 1.0); }
S maximum(S a, S b) {
  return a.type().isInteger(8) ? a.binary<arith::MaximumFOp, arith::MaxUIOp>(b)
                               : a.binary<arith::MaximumFOp, arith::MaxSIOp>(b);
}
S minimum(S a, S b) {
  return a.type().isInteger(8) ? a.binary<arith::MinimumFOp, arith::MinUIOp>(b)
                               : a.binary<arith::MinimumFOp, arith::MinSIOp>(b);
}

/// max(x, 0) + log(1 + e). What w = 1 + e rounds off is added to first order.
S softplus(S x) {
  S e = exp(0.0 - abs(x)), w = e + 1.0;
  return maximum(x, x.constant(0)) + (log(w) + (e - (w + -1.0)) / w);
}

S gelu(S x, bool tanhForm) {
  if (!tanhForm)
    return x * 0.5 * ((x * 0.70710678118654752).unary<math::ErfOp>() + 1.0);
  S inner = (x + x * x * x * 0.044715) * 0.79788456080286536;
  return x * 0.5 * (tanh(inner) + 1.0);
}

S convert(S x, Type to) {
  OpBuilder &b = *x.b;
  Type from = x.type();
  bool unsignedFrom = isUnsigned(from);
  auto make = [&](auto tag) {
    return x.with(decltype(tag)::create(b, x.loc, to, x.v));
  };
  if (from == to)
    return x;
  if (to.isInteger(1))
    return compare(Predicate::ne, x, x.constant(0));
  unsigned wf = from.getIntOrFloatBitWidth(), wt = to.getIntOrFloatBitWidth();
  if (x.isFloat() && isa<FloatType>(to))
    return wf < wt ? make(arith::ExtFOp()) : make(arith::TruncFOp());
  if (x.isFloat())
    return isUnsigned(to) ? make(arith::FPToUIOp()) : make(arith::FPToSIOp());
  if (isa<FloatType>(to))
    return unsignedFrom ? make(arith::UIToFPOp()) : make(arith::SIToFPOp());
  if (wf > wt)
    return make(arith::TruncIOp());
  return unsignedFrom ? make(arith::ExtUIOp()) : make(arith::ExtSIOp());
}

/// Reinterprets bits. A 16-bit float is passed as f32. Native casts to bf16
/// flush subnormals, but its bits are the upper half of f32's.
S sameBits(S x, Type from, Type to) {
  OpBuilder &b = *x.b;
  auto cast = [&](Type type, Value v) -> Value {
    return arith::BitcastOp::create(b, x.loc, type, v);
  };
  if (isHalf(from)) {
    if (from.isBF16())
      return convert(x.with(cast(b.getI32Type(), x.v)) >> 16, to);
    Value half = arith::TruncFOp::create(b, x.loc, from, x.v);
    return x.with(
        arith::ExtUIOp::create(b, x.loc, to, cast(b.getI16Type(), half)));
  }
  if (isHalf(to))
    return x.with(
        cast(to, arith::TruncIOp::create(b, x.loc, b.getI16Type(), x.v)));
  return x.with(cast(to, x.v));
}

/// Value number k of the dynamic map: decade i has n = `first` 2^i values, from
/// k = n on, which are (9 k - 8 n + 4.5) unit(i).
struct DynamicMap {
  double first; // number of values of the lowest decade

  static constexpr int kDecades = 7;
  explicit DynamicMap(bool nonNegative) : first(nonNegative ? 2 : 1) {}
  double count(int i) const { return std::ldexp(first, i); }
  double unit(int i) const { return std::pow(10, i - 7) / count(i); }
  double lowest(int i) const { return (count(i) + 4.5) * unit(i); }
  double highest(int i) const { return (10 * count(i) - 4.5) * unit(i); }
  double zero() const { return first - 1; } // k of 0
  double one() const { return count(kDecades); }
  /// The threshold from which x is rounded into decade i.
  double start(int i) const { return (highest(i - 1) + lowest(i)) / 2; }
  double startOfOne() const { return (highest(kDecades - 1) + 1) / 2; }

  using OfDecade = double (DynamicMap::*)(int) const;
  /// `value` for the decade of x; decades begin at `from`.
  S ofDecade(S x, OfDecade from, OfDecade value) const {
    S result = x.constant((this->*value)(0));
    for (int i = 1; i < kDecades; ++i)
      result = choose(compare(Predicate::ge, x, x.constant((this->*from)(i))),
                      x.constant((this->*value)(i)), result);
    return result;
  }
  double slope(int i) const { return 1 / (9 * unit(i)); }

  /// The number of the value nearest to x >= 0; for NaN that of 0.
  S number(S x) const {
    S n = ofDecade(x, &DynamicMap::start, &DynamicMap::count);
    S k =
        x * ofDecade(x, &DynamicMap::start, &DynamicMap::slope) + n * (8 / 9.0);
    k = minimum(maximum(k.unary<math::FloorOp>(), n), n * 2.0 + -1.0);
    k = choose(compare(Predicate::ge, x, x.constant(startOfOne())),
               x.constant(one()), k);
    return choose(compare(Predicate::ge, x, x.constant(lowest(0) / 2)), k,
                  x.constant(zero()));
  }
  S value(S k) const {
    S n = ofDecade(k, &DynamicMap::count, &DynamicMap::count);
    S y = (k * 9.0 - n * 8.0 + 4.5) *
          ofDecade(k, &DynamicMap::count, &DynamicMap::unit);
    y = choose(compare(Predicate::ge, k, k.constant(one())), k.constant(1), y);
    return choose(compare(Predicate::gt, k, k.constant(zero())), y,
                  k.constant(0));
  }
};

/// Codes of signed values are k + 127, so -1 has none: its k is beyond -127.
S dynamicEncode(S x, bool nonNegative) {
  const DynamicMap map(nonNegative);
  S k = map.number(nonNegative ? x : abs(x));
  Type i8 = x.b->getI8Type();
  if (nonNegative)
    return convert(k + -map.zero(), i8);
  S below = 127.0 - minimum(k, k.constant(127));
  return convert(
      choose(compare(Predicate::lt, x, x.constant(0)), below, k + 127.0), i8);
}
S dynamicDecode(S code, bool nonNegative) {
  const DynamicMap map(nonNegative);
  S k = convert(code, code.b->getF32Type());
  if (nonNegative)
    return map.value(k + map.zero());
  k = k + -127.0;
  S y = map.value(abs(k));
  return choose(compare(Predicate::lt, k, k.constant(0)), 0.0 - y, y);
}

} // namespace

/// Defines OP's body: an expression of `x`, the scalar operands, and `op`.
#define DLC_BODY(OP, EXPR)                                                     \
  Scalars OP::buildBody(OpBuilder &builder, ValueRange scalars) {              \
    [[maybe_unused]] OP op = *this;                                            \
    SmallVector<S> x;                                                          \
    for (Value v : scalars)                                                    \
      x.push_back({&builder, getLoc(), v});                                    \
    return {(EXPR).v};                                                         \
  }

DLC_BODY(NegOp, x[0].isFloat() ? x[0].unary<arith::NegFOp>() : 0.0 - x[0])
DLC_BODY(AbsOp, abs(x[0]))
DLC_BODY(SignOp, choose(compare(Predicate::gt, x[0], x[0].constant(0)),
                        x[0].constant(1),
                        choose(compare(Predicate::lt, x[0], x[0].constant(0)),
                               x[0].constant(-1), x[0] * 0.0)))
DLC_BODY(FloorOp, x[0].unary<math::FloorOp>())
DLC_BODY(CeilOp, x[0].unary<math::CeilOp>())
DLC_BODY(RoundOp, x[0].unary<math::RoundEvenOp>())
DLC_BODY(ExpOp, exp(x[0]))
DLC_BODY(LogOp, log(x[0]))
DLC_BODY(SqrtOp, sqrt(x[0]))
DLC_BODY(RsqrtOp, 1.0 / sqrt(x[0]))
DLC_BODY(ReciprocalOp, 1.0 / x[0])
DLC_BODY(TanhOp, tanh(x[0]))
DLC_BODY(SigmoidOp, sigmoid(x[0]))
DLC_BODY(StopGradientOp, x[0])
DLC_BODY(ScaleGradientOp, x[0])
DLC_BODY(ReluOp, choose(compare(Predicate::lt, x[0], x[0].constant(0)),
                        x[0].constant(0), x[0]))
DLC_BODY(ErfOp, x[0].unary<math::ErfOp>())
DLC_BODY(SinOp, x[0].unary<math::SinOp>())
DLC_BODY(CosOp, x[0].unary<math::CosOp>())
DLC_BODY(AtanOp, x[0].unary<math::AtanOp>())
DLC_BODY(SoftplusOp, softplus(x[0]))
DLC_BODY(NotOp, x[0].with(arith::XOrIOp::create(builder, getLoc(), x[0].v,
                                                x[0].constant(-1).v)))
DLC_BODY(GeluOp, gelu(x[0], op.getTanh()))
DLC_BODY(IsFiniteOp, compare(Predicate::eq, x[0] - x[0], x[0].constant(0)))
DLC_BODY(CastOp, convert(x[0], elementType(op.getY())))
DLC_BODY(BitCastOp,
         sameBits(x[0], elementType(op.getX()), elementType(op.getY())))
DLC_BODY(DynamicEncodeOp, dynamicEncode(x[0], op.getNonNegative()))
DLC_BODY(DynamicDecodeOp, dynamicDecode(x[0], op.getNonNegative()))
DLC_BODY(AddOp, x[0] + x[1])
DLC_BODY(SubOp, x[0] - x[1])
DLC_BODY(MulOp, x[0] * x[1])
DLC_BODY(DivOp, x[0] / x[1])
DLC_BODY(PowOp,
         x[0].with(math::PowFOp::create(builder, getLoc(), x[0].v, x[1].v)))
DLC_BODY(MaxOp, maximum(x[0], x[1]))
DLC_BODY(MinOp, minimum(x[0], x[1]))
DLC_BODY(AndOp,
         x[0].with(arith::AndIOp::create(builder, getLoc(), x[0].v, x[1].v)))
DLC_BODY(OrOp,
         x[0].with(arith::OrIOp::create(builder, getLoc(), x[0].v, x[1].v)))
DLC_BODY(CompareOp, compare(op.getPredicate(), x[0], x[1]))
DLC_BODY(SelectOp, choose(x[0], x[1], x[2]))
DLC_BODY(LerpOp, choose(compare(Predicate::lt, abs(x[2]), x[2].constant(0.5)),
                        x[0] + x[2] * (x[1] - x[0]),
                        x[1] - (x[1] - x[0]) * (1.0 - x[2])))

/// A 32-bit word of Philox, computed in 64 bits so that a product is a single
/// vector instruction.
static S word(S x) { return x & 0xffffffff; }

Scalars UniformOp::buildBody(OpBuilder &builder, ValueRange scalars) {
  auto s = [&](Value v) { return S{&builder, getLoc(), v}; };
  S position = s(scalars[0]), draw = s(scalars[1]), key = s(scalars[2]);
  S c[] = {word(position), position >> 32, word(draw), draw >> 32};
  S k[] = {word(key), key >> 32};
  for (int round = 0; round < kPhiloxRounds; ++round) {
    S a = c[0] * kPhiloxM0, b = c[2] * kPhiloxM1;
    S next[] = {(b >> 32) ^ c[1] ^ k[0], word(b), (a >> 32) ^ c[3] ^ k[1],
                word(a)};
    std::copy(next, next + 4, c);
    k[0] = word(k[0] + kPhiloxW0);
    k[1] = word(k[1] + kPhiloxW1);
  }
  auto unit = [&](S x) {
    Type i32 = builder.getI32Type(), f32 = builder.getF32Type();
    return (convert(convert(x >> 8, i32), f32) * 0x1p-24).v;
  };
  return {unit(c[0]), unit(c[1])};
}

} // namespace dlc::ir
