// SPDX-License-Identifier: Apache-2.0
// Canonicalises a graph for later passes: forms that exporters write out become
// the ops that they mean. Patterns here match one op deep; longer ones have
// their own files.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/Passes.h"
#include "passes/canonicalize/CanonicalizePatterns.h"

using namespace mlir;
using dlc::ir::Expr;
using dlc::ir::tensorType;

namespace dlc {
#define GEN_PASS_DEF_CANONICALIZE
#include "passes/Passes.h.inc"

std::optional<double> splatOf(Value v) {
  auto op = v.getDefiningOp<ir::ConstantOp>();
  auto dense =
      op ? dyn_cast<DenseElementsAttr>(op.getValue()) : DenseElementsAttr();
  if (!dense || !dense.isSplat() || !isa<FloatType>(dense.getElementType()))
    return std::nullopt;
  bool inexact;
  llvm::APFloat value = dense.getSplatValue<llvm::APFloat>();
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven,
                &inexact);
  return value.convertToDouble();
}

namespace {

Location fuse(Operation *a, Operation *b) {
  return FusedLoc::get(a->getContext(), {a->getLoc(), b->getLoc()});
}

/// matmul(a, b) + [N]  ->  matmul(a, b, bias)
struct AddToMatmulBias : OpRewritePattern<ir::AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::AddOp add,
                                PatternRewriter &rewriter) const override {
    for (auto [y, bias] : {std::pair(add.getA(), add.getB()),
                           std::pair(add.getB(), add.getA())}) {
      auto product = y.getDefiningOp<ir::MatmulOp>();
      if (!product || product.getBias() || product.getActivation() ||
          !y.hasOneUse() || y.getType() != add.getType() ||
          tensorType(bias).getRank() != 1 ||
          tensorType(bias).getShape().back() != tensorType(y).getShape().back())
        continue;
      Location both = fuse(product, add); // add is gone afterwards
      rewriter
          .replaceOpWithNewOp<ir::MatmulOp>(
              add, add.getType(), product.getA(), product.getB(), bias,
              product.getTransA(), product.getTransB(), StringAttr())
          ->setLoc(both);
      return success();
    }
    return failure();
  }
};

/// conv(x, w) + [O, 1, ...]  ->  conv(x, w, bias)
struct AddToConvBias : OpRewritePattern<ir::AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::AddOp add,
                                PatternRewriter &rewriter) const override {
    for (auto [y, bias] : {std::pair(add.getA(), add.getB()),
                           std::pair(add.getB(), add.getA())}) {
      auto conv = y.getDefiningOp<ir::ConvOp>();
      if (!conv || conv.getBias() || conv.getLayout() != "nchw" ||
          !y.hasOneUse() || y.getType() != add.getType() ||
          !isPerChannel(tensorType(bias), tensorType(conv.getW())))
        continue;
      Expr vector = Expr(rewriter, add.getLoc(), bias)
                        .reshape({tensorType(bias).getNumElements()});
      Location both = fuse(conv, add);
      rewriter
          .replaceOpWithNewOp<ir::ConvOp>(
              add, add.getType(), conv.getX(), conv.getW(), vector,
              conv.getStrides(), conv.getPads(), conv.getDilations(),
              conv.getGroup(), conv.getLayout(), conv.getFiltersLast())
          ->setLoc(both);
      return success();
    }
    return failure();
  }
  /// Whether the shape is [O, 1,...], like images, or [1, O,...].
  static bool isPerChannel(RankedTensorType t, RankedTensorType weights) {
    const int64_t channels = weights.getDimSize(0),
                  axis = t.getRank() - (weights.getRank() - 1);
    return t.hasStaticShape() && axis >= 0 && t.getNumElements() == channels &&
           t.getDimSize(axis) == channels;
  }
};

/// 1 / sqrt(x) and reciprocal(sqrt(x))  ->  rsqrt(x);  x / 1 -> x
struct SimplifyDiv : OpRewritePattern<ir::DivOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::DivOp op,
                                PatternRewriter &rewriter) const override {
    if (splatOf(op.getB()) == 1.0 && op.getA().getType() == op.getType()) {
      rewriter.replaceOp(op, op.getA());
      return success();
    }
    auto root = op.getB().getDefiningOp<ir::SqrtOp>();
    if (!root || splatOf(op.getA()) != 1.0 || root.getType() != op.getType())
      return failure();
    rewriter.replaceOpWithNewOp<ir::RsqrtOp>(op, root.getX());
    return success();
  }
};
struct ReciprocalOfRoot : OpRewritePattern<ir::ReciprocalOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::ReciprocalOp op,
                                PatternRewriter &rewriter) const override {
    auto root = op.getX().getDefiningOp<ir::SqrtOp>();
    if (!root)
      return failure();
    rewriter.replaceOpWithNewOp<ir::RsqrtOp>(op, root.getX());
    return success();
  }
};

/// x - 0  ->  x
struct SubtractZero : OpRewritePattern<ir::SubOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::SubOp op,
                                PatternRewriter &rewriter) const override {
    if (splatOf(op.getB()) != 0.0 || op.getA().getType() != op.getType())
      return failure();
    rewriter.replaceOp(op, op.getA());
    return success();
  }
};

/// pow(x, c) for c = -1, 0.5, 1, 2, 3
struct PowOfConstant : OpRewritePattern<ir::PowOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::PowOp op,
                                PatternRewriter &rewriter) const override {
    auto power = splatOf(op.getB());
    if (!power || op.getA().getType() != op.getType())
      return failure();
    Expr x(rewriter, op.getLoc(), op.getA());
    if (*power == 1)
      rewriter.replaceOp(op, x.v);
    else if (*power == 2)
      rewriter.replaceOp(op, (x * x).v);
    else if (*power == 3)
      rewriter.replaceOp(op, (x * x * x).v);
    else if (*power == 0.5)
      rewriter.replaceOp(op, sqrt(x).v);
    else if (*power == -1)
      rewriter.replaceOpWithNewOp<ir::ReciprocalOp>(op, x.v);
    else
      return failure();
    return success();
  }
};

/// log(sigmoid(x))  ->  -softplus(-x);  log(1 - sigmoid(x))  ->  -softplus(x)
/// Sigmoids that round to 0 or 1 have no logarithm, as in what PyTorch's older
/// exporter writes for binary_cross_entropy_with_logits.
struct LogOfSigmoid : OpRewritePattern<ir::LogOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::LogOp op,
                                PatternRewriter &rewriter) const override {
    auto rest = op.getX().getDefiningOp<ir::SubOp>();
    if (rest && splatOf(rest.getA()) != 1.0)
      return failure();
    Value share = rest ? rest.getB() : op.getX();
    auto sigmoid = share.getDefiningOp<ir::SigmoidOp>();
    if (!sigmoid || sigmoid.getType() != op.getType())
      return failure();
    Expr x(rewriter, op.getLoc(), sigmoid.getX()), of = rest ? x : -x;
    rewriter.replaceOp(op, (-of.make<ir::SoftplusOp>(of.v)).v);
    return success();
  }
};

/// Folds an op on two splats to a splat.
template <class OpTy, class F> struct FoldSplats : OpRewritePattern<OpTy> {
  FoldSplats(MLIRContext *context, F compute)
      : OpRewritePattern<OpTy>(context), compute(compute) {}
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    auto a = splatOf(op.getA()), b = splatOf(op.getB());
    if (!a || !b || !op.getType().hasStaticShape())
      return failure();
    rewriter.replaceOpWithNewOp<ir::ConstantOp>(op, compute(*a, *b),
                                                op.getType());
    return success();
  }
  F compute;
};
template <class OpTy, class F>
void foldSplats(RewritePatternSet &set, F compute) {
  set.add<FoldSplats<OpTy, F>>(set.getContext(), compute);
}

/// Folds a reshape or cast of a splat. Broadcasts are kept: they are free,
/// large constants are not.
template <class OpTy> struct MoveSplat : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    auto value = splatOf(op.getX());
    auto type = tensorType(op.getY());
    if (!value || !type.hasStaticShape() ||
        !isa<FloatType>(type.getElementType()))
      return failure();
    rewriter.replaceOpWithNewOp<ir::ConstantOp>(op, *value, type);
    return success();
  }
};

/// (x * c) * d  ->  x * (c d)
struct MergeScales : OpRewritePattern<ir::MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::MulOp op,
                                PatternRewriter &rewriter) const override {
    auto [x, d] = scaled(op);
    auto inner = x ? x.getDefiningOp<ir::MulOp>() : ir::MulOp();
    if (!inner || !inner->hasOneUse() || inner.getType() != op.getType())
      return failure();
    auto [y, c] = scaled(inner);
    if (!y || y.getType() != op.getType())
      return failure();
    Expr base(rewriter, fuse(inner, op), y);
    rewriter.replaceOp(op, (base * (c * d)).v);
    return success();
  }
  /// The non-constant factor, and the constant.
  static std::pair<Value, double> scaled(ir::MulOp op) {
    if (auto c = splatOf(op.getB()))
      return {op.getA(), *c};
    if (auto c = splatOf(op.getA()))
      return {op.getB(), *c};
    return {nullptr, 0};
  }
};

/// relu_backward(max_pool_backward(dy), x) of the pool of x
///   ->  max_pool_backward(relu_backward(dy, the pool's result))
/// A window's gradient goes to its maximum: fewer elements are masked, and x is
/// not needed.
struct MaskBeforePool : OpRewritePattern<ir::ReluBackwardOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::ReluBackwardOp mask,
                                PatternRewriter &rewriter) const override {
    auto gradient = mask.getDy().getDefiningOp<ir::MaxPoolBackwardOp>();
    auto pool = gradient && gradient->hasOneUse()
                    ? gradient.getIndex().getDefiningOp<ir::MaxPoolOp>()
                    : ir::MaxPoolOp();
    if (!pool || pool.getX() != mask.getY() ||
        pool.getY().getType() != gradient.getDy().getType() ||
        pool->getAttrDictionary() != gradient->getAttrDictionary() ||
        tensorType(pool.getY()).getNumElements() >=
            tensorType(pool.getX()).getNumElements())
      return failure();
    rewriter.setInsertionPoint(gradient);
    auto masked = ir::ReluBackwardOp::create(rewriter, mask.getLoc(),
                                             gradient.getDy().getType(),
                                             gradient.getDy(), pool.getY());
    rewriter.modifyOpInPlace(gradient,
                             [&] { gradient.getDyMutable().assign(masked); });
    rewriter.replaceOp(mask, gradient);
    return success();
  }
};

struct Canonicalize : impl::CanonicalizeBase<Canonicalize> {
  using CanonicalizeBase::CanonicalizeBase;

  LogicalResult initialize(MLIRContext *context) final {
    RewritePatternSet set(context);
    for (RegisteredOperationName op : context->getRegisteredOperations())
      op.getCanonicalizationPatterns(set, context);
    set.add<AddToMatmulBias, AddToConvBias, SimplifyDiv, ReciprocalOfRoot,
            SubtractZero, PowOfConstant, LogOfSigmoid, MergeScales,
            MaskBeforePool, MoveSplat<ir::ReshapeOp>, MoveSplat<ir::CastOp>>(
        context);
    foldSplats<ir::AddOp>(set, [](double a, double b) { return a + b; });
    foldSplats<ir::SubOp>(set, [](double a, double b) { return a - b; });
    foldSplats<ir::MulOp>(set, [](double a, double b) { return a * b; });
    foldSplats<ir::DivOp>(set, [](double a, double b) { return a / b; });
    addGeluPatterns(set);
    addEmptyPatterns(set);
    addDropoutPatterns(set);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() final {
    for (auto f : getOperation().getOps<func::FuncOp>()) {
      if (failed(applyPatternsGreedily(f, patterns)))
        return signalPassFailure();
      DominanceInfo dominance(f);
      IRRewriter rewriter(&getContext());
      eliminateCommonSubExpressions(rewriter, dominance, f);
      if (failed(refuseEmpty(f)))
        return signalPassFailure();
    }
  }

  FrozenRewritePatternSet patterns;
};

} // namespace
} // namespace dlc
