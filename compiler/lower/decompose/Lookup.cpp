// SPDX-License-Identifier: Apache-2.0
// scatter_add without a library: a column sum over the updates whose index is
// the row's number, in the order of updates, so that results are deterministic.
// unique_rows: every pair of indices is compared, and updates are added at the
// first position of their index.
// Grouped products: the matrix of each row's group is copied, and its gradient
// is a scatter_add.
#include "compiler/lower/decompose/Decompositions.h"
#include "compiler/lower/decompose/Rows.h"

using namespace mlir;

namespace dlc::ir {
namespace {

/// Parts of the indices that each index is compared with.
constexpr int64_t kMostParts = 32;

/// Sums of `updates` at `indices` along the axis of `type`; indices that are
/// not in [-rows, rows) add nothing.
Expr addedAt(Expr indices, Expr updates, RankedTensorType type, int64_t axis) {
  int64_t rows = type.getDimSize(axis), outer = 1, inner = 1,
          count = indices.type().getNumElements();
  for (int64_t i = 0; i < type.getRank(); ++i)
    (i < axis ? outer : inner) *= i == axis ? 1 : type.getDimSize(i);
  SmallVector<int64_t> all{outer, count, rows, inner}, each{1, count, 1, 1},
      ofUpdates{outer, count, 1, inner}, sums{1};
  auto integers = indices.type().clone(all);
  auto spread = [&](Expr x, Ints shape) {
    return x.reshape(shape).make<BroadcastOp>(x.type().clone(all),
                                              x.reshape(shape).v);
  };
  Expr index = spread(indices, each);
  Expr row = iota(indices, all, 2, integers.getElementType());
  // Negative indices count from the end.
  Expr isChosen = either(index == row, index == row - double(rows));
  Expr update = wide(spread(updates, ofUpdates));
  return select(isChosen, update, 0).sum(sums);
}

auto scatterAdd(Decomposition<ScatterAddOp> &d) {
  return d.results(
      {addedAt(d.expr(d.op.getIndices()), d.expr(d.op.getUpdates()),
               tensorType(d.op.getY()), d.op.getAxis())});
}

auto uniqueRows(Decomposition<UniqueRowsOp> &d) {
  Expr given = d.expr(d.op.getIndices());
  const int64_t count = given.shape()[0], size = d.op.getSize();
  Expr index = select(given < 0, given + double(size), given);
  if (size <= INT32_MAX)
    index = index.cast(d.builder.getI32Type());
  Type element = index.type().getElementType();
  // Sums over columns keep a column's index in a register. In parts, as there
  // may be fewer columns than threads.
  int64_t parts = kMostParts;
  while (count % parts)
    --parts;
  const SmallVector<int64_t> pairs{parts, count / parts, count};
  Expr other = iota(index, pairs, 0, element) * double(count / parts) +
               iota(index, pairs, 1, element),
       equal = index.reshape({parts, count / parts, 1}).broadcast(pairs) ==
               index.reshape({1, 1, count}).broadcast(pairs);
  Expr first = select(equal, other, double(count)).min({1}).min({0});
  // Ignored updates are at no position.
  first = select(index < double(size), first, double(count));
  Expr rows =
      select(first == iota(index, {count}, 0, element), index, double(size));
  return d.results({rows, addedAt(first, d.expr(d.op.getUpdates()),
                                  tensorType(d.op.getSums()), 0)});
}

/// x [T, C] as T rows or T columns.
Expr each(Expr x, bool isColumn) {
  const int64_t rows = x.shape()[0], size = x.shape()[1];
  return x.reshape(isColumn ? Ints{rows, size, 1} : Ints{rows, 1, size});
}

auto groupedMatmul(Decomposition<GroupedMatmulOp> &d) {
  GroupedMatmulOp op = d.op;
  Expr w = d.expr(op.getW());
  Expr matrices = gathered(w, d.expr(op.getGroups()), 0);
  return d.results({matmul(each(d.expr(op.getX()), false), matrices, false,
                           op.getTransW())});
}

auto groupedMatmulBackwardWeight(
    Decomposition<GroupedMatmulBackwardWeightOp> &d) {
  GroupedMatmulBackwardWeightOp op = d.op;
  Expr x = d.expr(op.getX()), dy = d.expr(op.getDy());
  if (op.getTransW())
    std::swap(x, dy);
  Expr parts = matmul(each(x, true), each(dy, false));
  return d.results({x.make<ScatterAddOp>(op.getDw().getType(), op.getGroups(),
                                         parts.v, uint64_t(0))});
}

} // namespace
} // namespace dlc::ir

using namespace dlc::ir;

void dlc::attachLookupDecompositions(MLIRContext &c) {
  decomposition<ScatterAddOp>(c, [](auto &d) { return scatterAdd(d); });
  decomposition<UniqueRowsOp>(c, [](auto &d) { return uniqueRows(d); });
  decomposition<GroupedMatmulOp>(c, [](auto &d) { return groupedMatmul(d); });
  decomposition<GroupedMatmulBackwardWeightOp>(
      c, [](auto &d) { return groupedMatmulBackwardWeight(d); });
}
