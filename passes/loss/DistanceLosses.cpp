// SPDX-License-Identifier: Apache-2.0
// Losses of distances between outputs, as in torch.nn.functional.
#include "passes/loss/LossKinds.h"

using namespace mlir;
using dlc::ir::Expr;

namespace dlc {
namespace {

LogicalResult checkAlike(func::FuncOp predict, StringRef name,
                         OutputTypes outs) {
  for (RankedTensorType out : outs)
    if (out.getShape() != outs[0].getShape() || out.getRank() < 2)
      return predict.emitError()
             << name << " expects outputs of one shape [rows, features], found "
             << outs[0] << " and " << out;
  return success();
}

/// Labels: 1 for similar pairs, -1 for dissimilar ones.
FailureOr<LossInputs> pairLabels(func::FuncOp predict, OutputTypes outs,
                                 const LossOptions &) {
  if (failed(checkAlike(predict, "cosine_embedding", outs)))
    return failure();
  const int64_t rows = outs[0].getDimSize(0);
  if (outs[0].getRank() != 2)
    return predict.emitError()
           << "cosine_embedding expects outputs of shape [rows, features], "
              "found "
           << outs[0];
  auto type =
      RankedTensorType::get({rows}, Float32Type::get(predict.getContext()));
  return LossInputs{{{"", type}}, rows};
}

LossRows cosineEmbedding(ExprList x, ExprList inputs,
                         const LossOptions &options) {
  constexpr double kSmall = 1e-12;
  Expr a = x[0], b = x[1], y = inputs[0];
  auto inner = [](Expr u, Expr v) { return (u * v).sum({1}); };
  Expr cosine =
      inner(a, b) / sqrt((inner(a, a) + kSmall) * (inner(b, b) + kSmall));
  Expr apart = cosine - options.margin.value_or(0);
  auto where = [&](double label, Expr loss) {
    return select(y == label, loss, 0);
  };
  return {where(1, 1.0 - cosine) + where(-1, maximum(apart, 0)), nullptr};
}

FailureOr<LossInputs> tripletInputs(func::FuncOp predict, OutputTypes outs,
                                    const LossOptions &) {
  if (failed(checkAlike(predict, "triplet_margin", outs)))
    return failure();
  return LossInputs{{}, outs[0].getDimSize(0)};
}

/// The norm of a - b along the last dimension, with torch's epsilon.
Expr pairDistance(Expr a, Expr b, double norm) {
  Expr size = abs(a - b + 1e-6);
  SmallVector<int64_t> last{a.rank() - 1};
  if (norm == 1)
    return size.sum(last);
  if (norm == 2)
    return sqrt((size * size).sum(last));
  Expr sum = pow(size, size.scalar(norm)).sum(last);
  return pow(sum, sum.scalar(1 / norm));
}

LossRows tripletMargin(ExprList x, ExprList, const LossOptions &options) {
  Expr anchor = x[0], near = x[1], far = x[2];
  const double norm = options.tripletNorm;
  Expr there = pairDistance(anchor, far, norm);
  if (options.tripletSwap)
    there = minimum(there, pairDistance(near, far, norm));
  Expr loss =
      pairDistance(anchor, near, norm) - there + options.margin.value_or(1);
  return {rowMeans(maximum(loss, 0)), nullptr};
}

const LossKind distanceKinds[] = {
    {"cosine_embedding", 2, pairLabels, itself, cosineEmbedding},
    {"triplet_margin", 3, tripletInputs, itself, tripletMargin},
};

} // namespace

LossFamily distanceLosses() { return distanceKinds; }

} // namespace dlc
