// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/scalar/Approximations.h"
#include "compiler/kernel/scalar/F32.h"
#include "mlir/Dialect/Math/Transforms/Approximation.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"

using namespace mlir;

namespace dlc {
namespace {

struct RsqrtAsDivision : OpRewritePattern<math::RsqrtOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::RsqrtOp op,
                                PatternRewriter &b) const override {
    Location loc = op.getLoc();
    Value root = math::SqrtOp::create(b, loc, op.getOperand());
    Value one =
        arith::ConstantOp::create(b, loc, b.getFloatAttr(op.getType(), 1.0));
    b.replaceOpWithNewOp<arith::DivFOp>(op, one, root);
    return success();
  }
};

/// CPUs convert only f32 to 16-bit floats; for other types LLVM would call the
/// compiler's run-time library.
template <class OpTy> struct ToHalfThroughF32 : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &b) const override {
    Type from = op.getIn().getType(), to = op.getType();
    if ((!to.isBF16() && !to.isF16()) || from.isF32())
      return failure();
    Value f32 = OpTy::create(b, op.getLoc(), b.getF32Type(), op.getIn());
    b.replaceOpWithNewOp<arith::TruncFOp>(op, to, f32);
    return success();
  }
};

/// 2^n * 2^f, with n the nearest integer and 2^f a polynomial fitted here on
/// [-1/2, 1/2] with error 8e-8. Only for normal results.
Value powerOfTwo(const F32 &k, Value v) {
  constexpr double kFraction[] = {1.0000000716552193,   0.6931469670632642,
                                  0.24022119721167084,  0.05550713274652485,
                                  0.009675541479816738, 0.0013276472027677864};
  // Adding kRound leaves the integer in the low bits.
  constexpr double kRound = 3 << 22;
  OpBuilder &b = k.b;
  Value shifted = arith::AddFOp::create(b, k.loc, v, k.number(kRound));
  Value n = arith::SubFOp::create(b, k.loc, shifted, k.number(kRound));
  Value f = arith::SubFOp::create(b, k.loc, v, n);
  Value exponent =
      arith::ShLIOp::create(b, k.loc, k.bits(shifted), k.integer(23));
  return k.ofBits(arith::AddIOp::create(
      b, k.loc, k.bits(k.polynomial(kFraction, f)), exponent));
}

} // namespace

void populateApproximations(RewritePatternSet &patterns) {
  static constexpr StringLiteral functions[] = {"math.exp", "math.log",
                                                "math.tanh", "math.erf"};
  populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
    return llvm::is_contained(functions, name);
  });
  patterns.add<RsqrtAsDivision, ToHalfThroughF32<arith::TruncFOp>,
               ToHalfThroughF32<arith::SIToFPOp>,
               ToHalfThroughF32<arith::UIToFPOp>>(patterns.getContext());
  populateErf(patterns, powerOfTwo, /*benefit=*/2);
  populateSines(patterns);
}

} // namespace dlc
