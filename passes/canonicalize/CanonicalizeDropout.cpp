// SPDX-License-Identifier: Apache-2.0
#include "passes/canonicalize/CanonicalizePatterns.h"

using namespace mlir;

namespace dlc {
namespace {

/// p and noise of cast(noise < p), if the noise has no other use.
std::pair<double, ir::NoiseOp> bernoulli(Value v) {
  while (auto cast = v.getDefiningOp<ir::CastOp>())
    v = cast.getX();
  auto hit = v.getDefiningOp<ir::CompareOp>();
  if (!hit || !hit->hasOneUse() || hit.getPredicate() != ir::Predicate::lt)
    return {};
  Value drawn = hit.getA();
  while (auto cast = drawn.getDefiningOp<ir::CastOp>())
    drawn = cast.getX();
  auto noise = drawn.getDefiningOp<ir::NoiseOp>();
  auto p = splatOf(hit.getB());
  bool matches = noise && p && noise->hasOneUse() && !noise.getNormal();
  return matches ? std::pair(*p, noise) : std::pair(0.0, ir::NoiseOp());
}

struct StochasticDepth : OpRewritePattern<ir::MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::MulOp op,
                                PatternRewriter &rewriter) const override {
    for (auto [x, factor] :
         {std::pair(op.getA(), op.getB()), std::pair(op.getB(), op.getA())}) {
      auto [constant, mask] = takeOffScale(factor);
      auto [p, noise] = bernoulli(mask);
      if (!noise || x.getType() != op.getType() ||
          std::abs(constant * p - 1) > 1e-6)
        continue;
      if (auto shared = sharedDims(x, noise)) {
        rewriter.replaceOpWithNewOp<ir::DropoutOp>(op, x, APFloat(1 - p),
                                                   *shared, noise.getId());
        return success();
      }
    }
    return failure();
  }

  /// Dimensions of x along which the noise is constant.
  static std::optional<SmallVector<int64_t>> sharedDims(Value x, Value noise) {
    ir::Ints full = ir::tensorType(x).getShape(),
             drawn = ir::tensorType(noise).getShape();
    SmallVector<int64_t> shared;
    int64_t rank = full.size(), missing = rank - int64_t(drawn.size());
    if (missing < 0)
      return std::nullopt;
    for (int64_t d = 0; d < rank; ++d) {
      int64_t size = d < missing ? 1 : drawn[d - missing];
      if (size != full[d] && size != 1)
        return std::nullopt;
      if (size == 1 && full[d] != 1)
        shared.push_back(d);
    }
    return shared;
  }
};

} // namespace

void addDropoutPatterns(RewritePatternSet &set) {
  set.add<StochasticDepth>(set.getContext(), /*benefit=*/2);
}

} // namespace dlc
