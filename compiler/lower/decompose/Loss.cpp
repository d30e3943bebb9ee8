// SPDX-License-Identifier: Apache-2.0
// Softmax cross entropy in simpler ops. Rows are kept as [R, 1] until the end.
#include "compiler/lower/decompose/Decompositions.h"
#include "compiler/lower/decompose/Rows.h"

using namespace mlir;

namespace dlc::ir {
namespace {

/// A vector [R] as a column.
Expr column(Expr x) {
  SmallVector<int64_t> shape{x.shape()[0], 1};
  return x.reshape(shape);
}

/// Whether an element is in the column of its row's label, [R, C]. Class
/// indices fit into 32 bits.
Expr isLabel(Expr labels, Ints shape) {
  Type i32 = IntegerType::get(labels.type().getContext(), 32);
  return iota(labels, shape, 1, i32) == column(labels.cast(i32));
}

/// x with 0 in rows whose label is ignored.
Expr withoutIgnored(Expr x, Expr labels, std::optional<int64_t> ignored) {
  if (!ignored)
    return x;
  Expr skip = column(labels) == *ignored;
  return select(skip, 0, x);
}

/// The maximum is subtracted first, so that neither the sum nor the difference
/// loses digits.
auto crossEntropy(Decomposition<SoftmaxCrossEntropyOp> &d) {
  Expr x = d(d.op.getLogits()), labels = d.expr(d.op.getLabels());
  SmallVector<int64_t> row{1};
  Expr max = x.max(row, true), shifted = x - max;
  Expr logSum = log(exp(shifted).sum(row, true));
  Expr hit = isLabel(labels, x.shape());
  Expr picked = select(hit, shifted, 0).sum(row, true);
  Expr loss = withoutIgnored(logSum - picked, labels, d.op.getIgnoreIndex());
  return d.results({loss, max + logSum});
}

/// x - lse. If lse is the sum above, of columns, its terms are subtracted one
/// by one: the sum of a large maximum and a small logarithm has lost the
/// latter's digits.
Expr belowLse(Decomposition<SoftmaxCrossEntropyBackwardOp> &d, Expr x) {
  const Type ofRows = x.type().clone({x.shape()[0], 1});
  Value lse = d.op.getLse();
  if (auto row = lse.getDefiningOp<ReshapeOp>())
    if (auto sum = row.getX().getDefiningOp<AddOp>();
        sum && sum->getOperandTypes() == TypeRange{ofRows, ofRows})
      return x - d.expr(sum.getA()) - d.expr(sum.getB());
  return x - column(d(lse));
}

auto crossEntropyBackward(Decomposition<SoftmaxCrossEntropyBackwardOp> &d) {
  Expr x = d(d.op.getLogits()), labels = d.expr(d.op.getLabels());
  Expr p = exp(belowLse(d, x));
  Expr dloss =
      withoutIgnored(column(d(d.op.getDloss())), labels, d.op.getIgnoreIndex());
  return d.results({select(isLabel(labels, x.shape()), p - 1.0, p) * dloss});
}

} // namespace
} // namespace dlc::ir

using namespace dlc::ir;

void dlc::attachLossDecompositions(MLIRContext &c) {
  decomposition<SoftmaxCrossEntropyOp>(c,
                                       [](auto &d) { return crossEntropy(d); });
  decomposition<SoftmaxCrossEntropyBackwardOp>(
      c, [](auto &d) { return crossEntropyBackward(d); });
}
