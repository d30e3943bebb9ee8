// SPDX-License-Identifier: Apache-2.0
// scatter_add without a library: a column sum over the updates whose index is
// the row's number, in the order of updates, so that results are deterministic.
// Grouped products: the matrix of each row's group is copied, and its gradient
// is a scatter_add.
#include "compiler/lower/decompose/Decompositions.h"
#include "compiler/lower/decompose/Rows.h"

using namespace mlir;

namespace dlc::ir {
namespace {

auto scatterAdd(Decomposition<ScatterAddOp> &d) {
  ScatterAddOp op = d.op;
  auto type = tensorType(op.getY());
  int64_t axis = op.getAxis(), rows = type.getDimSize(axis), outer = 1,
          inner = 1;
  for (int64_t i = 0; i < type.getRank(); ++i)
    (i < axis ? outer : inner) *= i == axis ? 1 : type.getDimSize(i);
  Expr indices = d.expr(op.getIndices());
  int64_t count = indices.type().getNumElements();
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
  Expr update = wide(spread(d.expr(op.getUpdates()), ofUpdates));
  return d.results({select(isChosen, update, 0).sum(sums)});
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
  decomposition<GroupedMatmulOp>(c, [](auto &d) { return groupedMatmul(d); });
  decomposition<GroupedMatmulBackwardWeightOp>(
      c, [](auto &d) { return groupedMatmulBackwardWeight(d); });
}
