// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/codegen/threads/PowersOfTwo.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace dlc::cuda {
namespace {

/// Ops of f32 at a place.
struct Build {
  PatternRewriter &b;
  Location loc;

  Value number(double v) const {
    return arith::ConstantOp::create(b, loc, b.getF32FloatAttr((float)v));
  }
  Value fma(Value l, Value r, Value sum) const {
    return math::FmaOp::create(b, loc, l, r, sum);
  }
  Value call(StringRef name, Value v) const {
    return LLVM::CallIntrinsicOp::create(b, loc, v.getType(),
                                         b.getStringAttr(name), v)
        .getResult(0);
  }
  Value powerOfTwo(Value v) const {
    return call("llvm.nvvm.ex2.approx.ftz.f32", v);
  }
  /// The constant comes first.
  Value polynomial(ArrayRef<double> coefficients, Value x) const {
    Value sum = number(coefficients.back());
    for (double c : llvm::reverse(coefficients.drop_back()))
      sum = fma(sum, x, number(c));
    return sum;
  }
};

/// exp(x) = 2^n * 2^(x * log2(e) - n): eight instructions instead of the
/// polynomial's 24, of which one instead of two run at an eighth of the rate.
///
/// n is the nearest integer, but at least -126 and at most 126, where 2^n is a
/// number; the instruction's own range makes 0 and infinity of the rest. The
/// rest is exact up to what log2(e) rounds to in two parts. NaN and infinities
/// go through it.
struct ExpAsPower : OpRewritePattern<math::ExpOp> {
  explicit ExpAsPower(MLIRContext *context)
      : OpRewritePattern(context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(math::ExpOp op,
                                PatternRewriter &b) const override {
    Location loc = op.getLoc();
    Value x = op.getOperand();
    Type f32 = x.getType(), i32 = b.getI32Type();
    if (!f32.isF32())
      return failure();
    const Build k{b, loc};
    constexpr double kLog2e = 1.4426950408889634, kHigh = (float)kLog2e;
    // Adding it leaves an integer in the low bits.
    constexpr double kRound = 3 << 22;
    constexpr int kMost = 126, kBias = 127;
    // (n + 126) / 252, in [0, 1], then n + 127 in the low bits.
    Value part =
        k.call("llvm.nvvm.saturate.f",
               k.fma(x, k.number(kLog2e / (2 * kMost)), k.number(0.5)));
    Value biased =
        k.fma(part, k.number(2 * kMost), k.number(kRound + kBias - kMost));
    Value n = arith::SubFOp::create(b, loc, biased, k.number(kRound + kBias));
    Value rest = k.fma(x, k.number(kHigh), arith::NegFOp::create(b, loc, n));
    rest = k.fma(x, k.number(kLog2e - kHigh), rest);
    Value mantissaBits =
        arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(23));
    Value scale = arith::BitcastOp::create(
        b, loc, f32,
        arith::ShLIOp::create(b, loc,
                              arith::BitcastOp::create(b, loc, i32, biased),
                              mantissaBits));
    b.replaceOpWithNewOp<arith::MulFOp>(op, k.powerOfTwo(rest), scale);
    return success();
  }
};

/// erf(x) is x P(x^2) below 1 and 1 - 2^Q(|x|), with the sign of x, above: two
/// polynomials on the fast pipe instead of one with selected coefficients and a
/// division. P and Q were fitted here to erf(x) / x on [0, 1] and, weighted by
/// erfc, to log2(erfc(x)) on [1, 4], behind which erf is 1 in f32; together
/// they are exact to 2.3 units of the last place. NaN goes through the second
/// one.
struct ErfInTwoPieces : OpRewritePattern<math::ErfOp> {
  explicit ErfInTwoPieces(MLIRContext *context)
      : OpRewritePattern(context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(math::ErfOp op,
                                PatternRewriter &b) const override {
    constexpr double kP[] = {1.1283791065216064,   -0.3761262595653534,
                             0.11283600330352783,  -0.026854444295167923,
                             0.005189535673707724, -0.0008020842215046287,
                             7.889122935011983e-05};
    constexpr double kQ[] = {-0.0005103093571960926, -1.6259750127792358,
                             -0.9207650423049927,    -0.14865149557590485,
                             0.031458426266908646,   -0.004240957088768482,
                             0.000267726689344272};
    constexpr double kEnd = 4;
    Location loc = op.getLoc();
    Value x = op.getOperand();
    if (!x.getType().isF32())
      return failure();
    const Build k{b, loc};
    Value size = arith::MinimumFOp::create(
        b, loc, math::AbsFOp::create(b, loc, x), k.number(kEnd));
    Value square = arith::MulFOp::create(b, loc, x, x);
    Value small = arith::MulFOp::create(b, loc, x, k.polynomial(kP, square));
    Value large = arith::SubFOp::create(b, loc, k.number(1),
                                        k.powerOfTwo(k.polynomial(kQ, size)));
    Value isSmall = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT,
                                          size, k.number(1));
    b.replaceOpWithNewOp<arith::SelectOp>(
        op, isSmall, small, math::CopySignOp::create(b, loc, large, x));
    return success();
  }
};

} // namespace

void populatePowersOfTwo(RewritePatternSet &patterns) {
  patterns.add<ExpAsPower, ErfInTwoPieces>(patterns.getContext());
}

} // namespace dlc::cuda
