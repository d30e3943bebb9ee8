// SPDX-License-Identifier: Apache-2.0
// How movement ops accept operands with permuted dimensions, and how
// transposes before a reshape join a transpose or a matrix product.
#include "compiler/dialect/Dlc.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/PatternMatch.h"

#include <optional>

using namespace mlir;

namespace dlc::ir {
namespace {

/// A run of elements that two shapes of the same elements have in common: it is
/// a part of dimension `before` of one and of dimension `after` of the other.
struct Factor {
  int64_t before, after, size;
};

/// The common factors of two shapes, in row-major order; dimensions of size 1
/// have none. Nothing if a dimension of one divides at no factor of the other,
/// as in 4x3 and 6x2.
std::optional<SmallVector<Factor>> commonFactors(Ints before, Ints after) {
  SmallVector<Factor> factors;
  size_t i = 0, j = 0;
  int64_t a = 1, b = 1; // what is left of before[i - 1] and after[j - 1]
  while (true) {
    while (a == 1 && i < before.size())
      a = before[i++];
    while (b == 1 && j < after.size())
      b = after[j++];
    if (a == 1 && b == 1)
      return factors;
    const int64_t size = std::min(a, b);
    if (size < 2 || a % size || b % size)
      return std::nullopt;
    factors.push_back({int64_t(i) - 1, int64_t(j) - 1, size});
    a /= size, b /= size;
  }
}

/// A permutation of the elements of inner's operand, in `shape`.
struct Permutation {
  TransposeOp inner;
  SmallVector<int64_t> shape, perm;
  bool isNone() const { return perm.size() <= 1; }
};

/// transpose(v) with `perm` as one permutation, of as few dimensions as
/// possible, if v is a reshape of a transpose; nothing if it is not, or their
/// shapes have no common factors.
std::optional<Permutation> composed(Value v, Ints perm) {
  auto view = v.getDefiningOp<ReshapeOp>();
  auto inner = view ? view.getX().getDefiningOp<TransposeOp>() : nullptr;
  if (!inner)
    return std::nullopt;
  const auto factors =
      commonFactors(tensorType(inner).getShape(), tensorType(view).getShape());
  if (!factors)
    return std::nullopt;

  // The factors as they lie in the operand, and as the result has them.
  SmallVector<int64_t> from, to;
  for (int64_t d = 0, rank = inner.getPerm().size(); d < rank; ++d)
    for (auto [f, factor] : llvm::enumerate(*factors))
      if (inner.getPerm()[factor.before] == d)
        from.push_back(f);
  for (int64_t d : perm)
    for (auto [f, factor] : llvm::enumerate(*factors))
      if (factor.after == d)
        to.push_back(f);

  // Factors that stay side by side are one dimension.
  Permutation result{inner, {}, {}};
  SmallVector<int64_t> firsts; // the first factor of each
  for (size_t k = 0; k < from.size(); ++k) {
    const auto at = llvm::find(to, from[k]);
    const int64_t size = (*factors)[from[k]].size;
    if (k && at != to.begin() && at[-1] == from[k - 1]) {
      result.shape.back() *= size;
    } else {
      result.shape.push_back(size);
      firsts.push_back(from[k]);
    }
  }
  for (int64_t f : to)
    if (const auto at = llvm::find(firsts, f); at != firsts.end())
      result.perm.push_back(at - firsts.begin());
  return result;
}

/// transpose(reshape(transpose(x))) -> reshape(transpose(reshape(x))), or a
/// reshape of x if no element moves. Images that become tokens and come back,
/// as in vision transformers with convolutions, need no copy then.
struct TransposeThroughReshape : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto all = composed(op.getX(), op.getPerm());
    if (!all || (!all->isNone() && !all->inner->hasOneUse()))
      return failure();
    Value moved = all->inner.getX();
    if (!all->isNone()) {
      const Location loc = op.getLoc();
      const auto type = tensorType(moved);
      moved = ReshapeOp::create(rewriter, loc, type.clone(all->shape), moved);
      moved = TransposeOp::create(
          rewriter, loc, type.clone(applyPermutation(all->shape, all->perm)),
          moved, all->perm);
    }
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), moved);
    return success();
  }
};

/// matmul(transpose(x)), with or without a reshape in between -> matmul of x,
/// or of a reshape of x, with the other flag, if the last two dimensions are
/// swapped.
struct MatmulOfTransposed : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    const Value a = swapped(rewriter, op.getA()),
                b = swapped(rewriter, op.getB());
    if (!a && !b)
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      if (a) {
        op.getAMutable().assign(a);
        op.setTransA(!op.getTransA());
      }
      if (b) {
        op.getBMutable().assign(b);
        op.setTransB(!op.getTransB());
      }
    });
    return success();
  }

private:
  static Value swapped(PatternRewriter &rewriter, Value v) {
    const int64_t rank = tensorType(v).getRank();
    if (rank < 2)
      return nullptr;
    auto perm = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    std::swap(perm[rank - 2], perm[rank - 1]);
    if (auto transpose = v.getDefiningOp<TransposeOp>())
      return transpose.getPerm() == Ints(perm) ? transpose.getX() : Value();
    auto all = composed(v, perm);
    if (!all || !all->isNone())
      return nullptr;
    const auto type = tensorType(v);
    return ReshapeOp::create(
        rewriter, v.getLoc(),
        type.clone(applyPermutation(type.getShape(), perm)), all->inner.getX());
  }
};

} // namespace

void TransposeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  patterns.add<TransposeThroughReshape>(context);
}
void MatmulOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *context) {
  patterns.add<MatmulOfTransposed>(context);
}

/// Its own permutation determines the order of the result.
bool TransposeOp::permuteDims(Ints) { return false; }
bool SliceOp::permuteDims(Ints order) {
  setStarts(applyPermutation(getStarts(), order));
  setSizes(applyPermutation(getSizes(), order));
  setSteps(applyPermutation(getSteps(), order));
  return true;
}
bool PadOp::permuteDims(Ints order) {
  setLow(applyPermutation(getLow(), order));
  setHigh(applyPermutation(getHigh(), order));
  setInterior(applyPermutation(getInterior(), order));
  return true;
}
bool ConcatOp::permuteDims(Ints order) {
  setAxis(llvm::find(order, (int64_t)getAxis()) - order.begin());
  return true;
}

} // namespace dlc::ir
