// SPDX-License-Identifier: Apache-2.0
// Removes transposes of rows around the products of an attention. A layer that
// takes [time, batch] transposes its input and its result; its projections are
// divided by slices of further transposed views. Here transposes move over
// products of their rows to those of the heads, with which they compose
// (compiler/dialect/Movement.cpp), and slices move over views and transposes.
#include "compiler/dialect/Expr.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/Passes.h"

using namespace mlir;
using dlc::ir::Expr;
using dlc::ir::Ints;
using dlc::ir::tensorType;

namespace dlc {
#define GEN_PASS_DEF_ORDERROWS
#include "passes/Passes.h.inc"

namespace {

using Shape = SmallVector<int64_t>;

bool keepsColumns(ir::TransposeOp op) {
  return op.getPerm().size() > 1 &&
         op.getPerm().back() == int64_t(op.getPerm().size()) - 1;
}
/// Whether rows of A are multiplied by one matrix.
bool isOfRows(ir::MatmulOp op) {
  return !op.getTransA() && !op.getActivation() &&
         tensorType(op.getB()).getRank() == 2 &&
         tensorType(op.getA()).getRank() == tensorType(op.getY()).getRank();
}
/// The product of other rows with the same matrix and bias.
ir::MatmulOp productOf(PatternRewriter &rewriter, ir::MatmulOp op, Value rows) {
  Shape shape(tensorType(rows).getShape());
  shape.back() = tensorType(op.getY()).getShape().back();
  return ir::MatmulOp::create(
      rewriter, op.getLoc(), tensorType(op.getY()).clone(shape), rows,
      op.getB(), op.getBias(), false, op.getTransB(), StringAttr());
}

/// Whether v is a transpose or a view of one.
bool isTransposed(Value v) {
  if (auto view = v.getDefiningOp<ir::ReshapeOp>())
    v = view.getX();
  return v.getDefiningOp<ir::TransposeOp>() != nullptr;
}

/// Whether all uses of v, also of views and slices of it, are transposes.
bool meetsTransposes(Value v, int depth = 0) {
  constexpr int kMostSteps = 6;
  return depth < kMostSteps && !v.use_empty() &&
         llvm::all_of(v.getUsers(), [&](Operation *user) {
           return isa<ir::TransposeOp>(user) ||
                  (isa<ir::ReshapeOp, ir::SliceOp>(user) &&
                   meetsTransposes(user->getResult(0), depth + 1));
         });
}

/// gather(x, number) -> a slice of x.
struct GatherOfNumber : OpRewritePattern<ir::GatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::GatherOp op,
                                PatternRewriter &rewriter) const override {
    DenseIntElementsAttr number;
    if (!matchPattern(op.getIndices(), m_Constant(&number)) ||
        number.getNumElements() != 1 || op.getPadding())
      return failure();
    const Expr x(rewriter, op.getLoc(), op.getData());
    const int64_t axis = op.getAxis(), size = x.shape()[axis];
    int64_t at = (*number.getValues<APInt>().begin()).getSExtValue();
    at += at < 0 ? size : 0;
    if (at < 0 || at >= size)
      return failure();
    rewriter.replaceOp(
        op, part(x, axis, at, 1).reshape(tensorType(op.getY()).getShape()).v);
    return success();
  }
};

/// slice(transpose(x)) -> transpose(slice(x)), if all is sliced.
struct SliceOfTransposed : OpRewritePattern<ir::SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::SliceOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<ir::TransposeOp>();
    if (!inner || !llvm::all_of(inner->getUsers(), [](Operation *user) {
          return isa<ir::SliceOp>(user);
        }))
      return failure();
    const auto back = invertPermutationVector(inner.getPerm());
    const Expr x(rewriter, op.getLoc(), inner.getX());
    const Expr slice =
        x.make<ir::SliceOp>(x.v, applyPermutation(op.getStarts(), back),
                            applyPermutation(op.getSizes(), back),
                            applyPermutation(op.getSteps(), back));
    rewriter.replaceOp(op, transposed(slice, inner.getPerm()).v);
    return success();
  }
};

/// slice(reshape(x)) -> reshape(slice(x)), if one dimension is sliced, which is
/// the first one that a dimension of x is divided into.
struct SliceOfView : OpRewritePattern<ir::SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::SliceOp op,
                                PatternRewriter &rewriter) const override {
    auto view = op.getX().getDefiningOp<ir::ReshapeOp>();
    const Ints whole = tensorType(op.getX()).getShape();
    int64_t axis = -1;
    for (int64_t d = 0, rank = whole.size(); d < rank; ++d)
      if (op.getSizes()[d] != whole[d]) {
        if (axis >= 0 || op.getSteps()[d] != 1)
          return failure();
        axis = d;
      }
    if (!view || axis < 0)
      return failure();
    // The dimension of x with as many elements before it, and what it holds of
    // the sliced one.
    const Ints from = tensorType(view.getX()).getShape();
    const int64_t before = llvm::product_of(whole.take_front(axis));
    int64_t source = 0, passed = 1, rank = from.size();
    while (source < rank && (passed < before || from[source] == 1))
      passed *= from[source++];
    if (source == rank || passed != before || from[source] % whole[axis])
      return failure();
    const int64_t each = from[source] / whole[axis];
    const Expr x(rewriter, op.getLoc(), view.getX());
    const Expr slice = part(x, source, op.getStarts()[axis] * each,
                            op.getSizes()[axis] * each);
    rewriter.replaceOp(op, slice.reshape(tensorType(op).getShape()).v);
    return success();
  }
};

/// A transpose that moves dimensions of size one only -> a view.
struct TransposeOfOnes : OpRewritePattern<ir::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::TransposeOp op,
                                PatternRewriter &rewriter) const override {
    const Ints shape = tensorType(op.getX()).getShape();
    Shape moved;
    for (int64_t d : op.getPerm())
      if (shape[d] != 1)
        moved.push_back(d);
    if (!llvm::is_sorted(moved))
      return failure();
    rewriter.replaceOpWithNewOp<ir::ReshapeOp>(op, op.getType(), op.getX());
    return success();
  }
};

/// matmul(transpose(x)) -> transpose(matmul(x)), before other transposes,
/// unless x is transposed, too (TransposeOfProduct would undo that).
struct ProductOfTransposed : OpRewritePattern<ir::MatmulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::MatmulOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getA().getDefiningOp<ir::TransposeOp>();
    if (!inner || !keepsColumns(inner) || isTransposed(inner.getX()) ||
        !isOfRows(op) || !meetsTransposes(op.getY()))
      return failure();
    const Expr y(rewriter, inner.getLoc(),
                 productOf(rewriter, op, inner.getX()));
    rewriter.replaceOp(op, transposed(y, inner.getPerm()).v);
    return success();
  }
};

/// transpose(matmul(x)) -> matmul(transpose(x)), behind another transpose; the
/// product may have a view of the same columns.
struct TransposeOfProduct : OpRewritePattern<ir::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto view = op.getX().getDefiningOp<ir::ReshapeOp>();
    const Value y = view ? view.getX() : op.getX();
    auto product = y.getDefiningOp<ir::MatmulOp>();
    if (!product || !keepsColumns(op) || !isOfRows(product) || !y.hasOneUse() ||
        (view && !view->hasOneUse()) ||
        tensorType(op.getX()).getShape().back() !=
            tensorType(y).getShape().back())
      return failure();
    if (!isTransposed(product.getA()))
      return failure();
    Shape rows(tensorType(op.getX()).getShape());
    rows.back() = tensorType(product.getA()).getShape().back();
    const Expr x(rewriter, op.getLoc(), product.getA());
    rewriter.replaceOp(op,
                       productOf(rewriter, product,
                                 transposed(x.reshape(rows), op.getPerm()).v));
    return success();
  }
};

struct OrderRows : impl::OrderRowsBase<OrderRows> {
  void runOnOperation() final {
    RewritePatternSet patterns(&getContext());
    patterns.add<GatherOfNumber, SliceOfTransposed, SliceOfView,
                 TransposeOfOnes, ProductOfTransposed, TransposeOfProduct>(
        &getContext());
    ir::TransposeOp::getCanonicalizationPatterns(patterns, &getContext());
    ir::ReshapeOp::getCanonicalizationPatterns(patterns, &getContext());
    const FrozenRewritePatternSet frozen(std::move(patterns));
    for (auto f : getOperation().getOps<func::FuncOp>())
      if (failed(applyPatternsGreedily(f, frozen)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace dlc
