// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/codegen/threads/Functions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace dlc::cuda {
namespace {

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
    auto number = [&](double v) -> Value {
      return arith::ConstantOp::create(b, loc, b.getF32FloatAttr((float)v));
    };
    auto fma = [&](Value l, Value r, Value sum) -> Value {
      return math::FmaOp::create(b, loc, l, r, sum);
    };
    auto call = [&](StringRef name, Value v) {
      return LLVM::CallIntrinsicOp::create(b, loc, f32, b.getStringAttr(name),
                                           v)
          .getResult(0);
    };
    constexpr double kLog2e = 1.4426950408889634, kHigh = (float)kLog2e;
    // Adding it leaves an integer in the low bits.
    constexpr double kRound = 3 << 22;
    constexpr int kMost = 126, kBias = 127;
    // (n + 126) / 252, in [0, 1], then n + 127 in the low bits.
    Value part = call("llvm.nvvm.saturate.f",
                      fma(x, number(kLog2e / (2 * kMost)), number(0.5)));
    Value biased = fma(part, number(2 * kMost), number(kRound + kBias - kMost));
    Value n = arith::SubFOp::create(b, loc, biased, number(kRound + kBias));
    Value rest = fma(x, number(kHigh), arith::NegFOp::create(b, loc, n));
    rest = fma(x, number(kLog2e - kHigh), rest);
    Value mantissaBits =
        arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(23));
    Value scale = arith::BitcastOp::create(
        b, loc, f32,
        arith::ShLIOp::create(b, loc,
                              arith::BitcastOp::create(b, loc, i32, biased),
                              mantissaBits));
    b.replaceOpWithNewOp<arith::MulFOp>(
        op, call("llvm.nvvm.ex2.approx.ftz.f32", rest), scale);
    return success();
  }
};

} // namespace

void populateFunctions(RewritePatternSet &patterns) {
  patterns.add<ExpAsPower>(patterns.getContext());
}

} // namespace dlc::cuda
