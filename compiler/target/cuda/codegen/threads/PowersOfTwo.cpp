// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/codegen/threads/PowersOfTwo.h"
#include "compiler/kernel/scalar/F32.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace dlc::cuda {
namespace {

Value call(const F32 &k, StringRef name, Value v) {
  return LLVM::CallIntrinsicOp::create(k.b, k.loc, v.getType(),
                                       k.b.getStringAttr(name), v)
      .getResult(0);
}
Value powerOfTwo(const F32 &k, Value v) {
  return call(k, "llvm.nvvm.ex2.approx.ftz.f32", v);
}

/// exp(x) = 2^n * 2^(x * log2(e) - n): eight instructions instead of the
/// polynomial's 24, one instead of two of which run at an eighth of the rate.
///
/// n is the nearest integer in [-126, 126], for which 2^n is a normal number;
/// for other x the instruction gives 0 or infinity. The fraction is exact up to
/// the rounding of log2(e), which is split in two parts. NaN and infinities
/// propagate.
struct ExpAsPower : OpRewritePattern<math::ExpOp> {
  explicit ExpAsPower(MLIRContext *context)
      : OpRewritePattern(context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(math::ExpOp op,
                                PatternRewriter &b) const override {
    Location loc = op.getLoc();
    Value x = op.getOperand();
    if (!x.getType().isF32())
      return failure();
    const F32 k{b, loc};
    constexpr double kLog2e = 1.4426950408889634, kHigh = (float)kLog2e;
    // Adding kRound leaves the integer in the low bits.
    constexpr double kRound = 3 << 22;
    constexpr int kMost = 126, kBias = 127;
    // (n + 126) / 252, in [0, 1], then n + 127 in the low bits.
    Value part = call(k, "llvm.nvvm.saturate.f",
                      k.fma(x, k.number(kLog2e / (2 * kMost)), k.number(0.5)));
    Value biased =
        k.fma(part, k.number(2 * kMost), k.number(kRound + kBias - kMost));
    Value n = arith::SubFOp::create(b, loc, biased, k.number(kRound + kBias));
    Value rest = k.fma(x, k.number(kHigh), arith::NegFOp::create(b, loc, n));
    rest = k.fma(x, k.number(kLog2e - kHigh), rest);
    Value scale =
        k.ofBits(arith::ShLIOp::create(b, loc, k.bits(biased), k.integer(23)));
    b.replaceOpWithNewOp<arith::MulFOp>(op, powerOfTwo(k, rest), scale);
    return success();
  }
};

} // namespace

void populatePowersOfTwo(RewritePatternSet &patterns) {
  patterns.add<ExpAsPower>(patterns.getContext());
  populateErf(patterns, powerOfTwo, /*benefit=*/3);
}

} // namespace dlc::cuda
