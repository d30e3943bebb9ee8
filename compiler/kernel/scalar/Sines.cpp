// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/scalar/F32.h"

using namespace mlir;

namespace dlc {
namespace {

/// x is reduced to a quarter turn in f64: x = n pi/2 + r. MLIR's reduction in
/// f32 is off by 1e-7 for each turn, 7e-4 at x = 1e4. Its error is below that
/// of the result up to |x| = 2^51; beyond, where adjacent f32 are many turns
/// apart, r is only kept in range. The polynomials were fitted here on
/// [-pi/4, pi/4] to (sin(r) / r - 1) / r^2 and (cos(r) - 1 + r^2 / 2) / r^4,
/// with errors of 4e-9 and 1e-10.
template <class Op> struct Sine : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &b) const override {
    constexpr double kSine[] = {-0.16666654940090253, 0.0083321779124035133,
                                -0.00019517266453998716};
    constexpr double kCosine[] = {0.04166664686062652, -0.0013887367216665534,
                                  2.4438415866199913e-05};
    constexpr double kQuarter = 0.78539816339744831;
    if (!op.getType().isF32())
      return failure();
    const F32 k{b, op.getLoc()};
    auto [quarters, rest] = reduced(k, op.getOperand());
    Value r = arith::MinimumFOp::create(
        b, k.loc, k.number(kQuarter),
        arith::MaximumFOp::create(b, k.loc, k.number(-kQuarter), rest));
    Value square = arith::MulFOp::create(b, k.loc, r, r);
    auto times = [&](Value x, Value y) {
      return arith::MulFOp::create(b, k.loc, x, y);
    };
    Value sine = k.fma(times(r, square), k.polynomial(kSine, square), r);
    Value cosine = k.fma(times(square, square), k.polynomial(kCosine, square),
                         k.fma(square, k.number(-0.5), k.number(1)));
    if (std::is_same_v<Op, math::CosOp>)
      quarters = arith::AddIOp::create(b, k.loc, quarters, k.integer(1));
    auto bit = [&](int32_t mask) {
      return arith::AndIOp::create(b, k.loc, quarters, k.integer(mask));
    };
    Value isOdd = arith::CmpIOp::create(b, k.loc, arith::CmpIPredicate::ne,
                                        bit(1), k.integer(0));
    Value size = arith::SelectOp::create(b, k.loc, isOdd, cosine, sine);
    Value sign = arith::ShLIOp::create(b, k.loc, bit(2), k.integer(30));
    b.replaceOp(op,
                k.ofBits(arith::XOrIOp::create(b, k.loc, k.bits(size), sign)));
    return success();
  }

private:
  /// n modulo 2^32, and r.
  static std::pair<Value, Value> reduced(const F32 &k, Value x) {
    constexpr double kPerQuarter = 0.63661977236758138, // 2 / pi
        kHigh = 1.5707963267948966, kLow = 6.123233995736766e-17,
                     kRound = 3LL << 51; // leaves n in the low bits
    OpBuilder &b = k.b;
    auto number = [&](double v) {
      return arith::ConstantOp::create(b, k.loc, b.getF64FloatAttr(v));
    };
    Value wide = arith::ExtFOp::create(b, k.loc, b.getF64Type(), x);
    Value shifted = k.fma(wide, number(kPerQuarter), number(kRound));
    Value n = arith::SubFOp::create(b, k.loc, shifted, number(kRound));
    Value r = k.fma(n, number(-kLow), k.fma(n, number(-kHigh), wide));
    Value bits = arith::BitcastOp::create(b, k.loc, b.getI64Type(), shifted);
    return {arith::TruncIOp::create(b, k.loc, b.getI32Type(), bits),
            arith::TruncFOp::create(b, k.loc, b.getF32Type(), r)};
  }
};

} // namespace

void populateSines(RewritePatternSet &patterns) {
  patterns.add<Sine<math::SinOp>, Sine<math::CosOp>>(patterns.getContext());
}

} // namespace dlc
