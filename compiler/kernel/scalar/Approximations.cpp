// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/scalar/Approximations.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
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

/// CPUs convert to halves from f32 only; LLVM would call the compiler's
/// run-time library.
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

} // namespace

void populateApproximations(RewritePatternSet &patterns) {
  static constexpr StringLiteral functions[] = {
      "math.exp", "math.log", "math.tanh", "math.erf", "math.sin", "math.cos"};
  populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
    return llvm::is_contained(functions, name);
  });
  patterns.add<RsqrtAsDivision, ToHalfThroughF32<arith::TruncFOp>,
               ToHalfThroughF32<arith::SIToFPOp>,
               ToHalfThroughF32<arith::UIToFPOp>>(patterns.getContext());
}

} // namespace dlc
