// SPDX-License-Identifier: Apache-2.0
// scatter_add where no library has it: a sum of columns that takes, of all
// updates, those whose index is the row's number. It adds them in the order of
// the indices, so it gives the same bits each time.
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
  Expr row = indices.make<IotaOp>(integers, 2);
  // Negative indices count from the end.
  Expr fromEnd =
      row -
      indices.make<ConstantOp>(
          (double)rows, RankedTensorType::get({}, integers.getElementType()));
  Expr first = compare(Predicate::eq, index, row);
  Expr second = compare(Predicate::eq, index, fromEnd);
  Expr isChosen = first.make<OrOp>(first.v, second.v);
  Expr update = wide(spread(d.expr(op.getUpdates()), ofUpdates));
  return d.results({select(isChosen, update, update.scalar(0)).sum(sums)});
}

} // namespace
} // namespace dlc::ir

using namespace dlc::ir;

void dlc::attachLookupDecompositions(MLIRContext &c) {
  decomposition<ScatterAddOp>(c, [](auto &d) { return scatterAdd(d); });
}
