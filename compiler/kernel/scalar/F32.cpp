// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/scalar/F32.h"

using namespace mlir;

namespace dlc {

Value F32::polynomial(ArrayRef<double> coefficients, Value x) const {
  Value sum = number(coefficients.back());
  for (double c : llvm::reverse(coefficients.drop_back()))
    sum = fma(sum, x, number(c));
  return sum;
}

namespace {

/// erf(x) is x P(x^2) for |x| below 1 and otherwise 1 - 2^Q(|x|), with the sign
/// of x. P and Q were fitted here to erf(x) / x on [0, 1] and, weighted by
/// erfc, to log2(erfc(x)) on [1, 4], beyond which erf is 1 in f32; the error is
/// at most 2.3 ulp. NaN takes the second branch.
struct ErfInTwoPieces : OpRewritePattern<math::ErfOp> {
  ErfInTwoPieces(MLIRContext *context, PowerOfTwo power, unsigned benefit)
      : OpRewritePattern(context, benefit), power(std::move(power)) {}

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
    const F32 k{b, loc};
    Value size = arith::MinimumFOp::create(
        b, loc, math::AbsFOp::create(b, loc, x), k.number(kEnd));
    Value square = arith::MulFOp::create(b, loc, x, x);
    Value small = arith::MulFOp::create(b, loc, x, k.polynomial(kP, square));
    Value large = arith::SubFOp::create(b, loc, k.number(1),
                                        power(k, k.polynomial(kQ, size)));
    Value isSmall = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT,
                                          size, k.number(1));
    b.replaceOpWithNewOp<arith::SelectOp>(
        op, isSmall, small, math::CopySignOp::create(b, loc, large, x));
    return success();
  }

private:
  PowerOfTwo power;
};

} // namespace

void populateErf(RewritePatternSet &patterns, PowerOfTwo power,
                 unsigned benefit) {
  patterns.add<ErfInTwoPieces>(patterns.getContext(), std::move(power),
                               benefit);
}

} // namespace dlc
