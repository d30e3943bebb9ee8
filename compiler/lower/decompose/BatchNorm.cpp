// SPDX-License-Identifier: Apache-2.0
// Batch norm in training and its gradients, without a library: column sums in
// two stages and an elementwise formula, which fuses with its neighbours.
//
// A stage sums x - pivot and its square, where the pivot is one of the values:
// so squares do not cancel if the mean is large. The pivot of a part is its
// first row, that of all parts together is the mean of the first part.
#include "compiler/dialect/ops/Ranks.h"
#include "compiler/lower/Marks.h"
#include "compiler/lower/decompose/Decompositions.h"
#include "compiler/lower/decompose/Regroup.h"
#include "compiler/lower/decompose/Rows.h"

using namespace mlir;

namespace dlc::ir {
namespace {

Expr firstOf(Expr x, int64_t axis) { return part(x, axis, 0, 1); }
Expr sumOver(Expr x, int64_t axis) { return x.sum(Ints(axis), true); }

/// Mean, and sum of squared differences from it.
struct Moments {
  Expr mean, squares;
};
/// The moments of `n` values along `axis`.
Moments momentsOf(Expr x, Expr pivot, int64_t axis, double n) {
  Expr distance = x - pivot;
  Expr sum = sumOver(distance, axis);
  Expr squares = sumOver(distance * distance, axis);
  Expr shift = sum / n;
  return {pivot + shift, squares - shift * shift * n};
}
Moments momentsOf(Expr images, const ChannelView &view) {
  Expr x = images.reshape(view.shape);
  Moments part = momentsOf(wide(x), wide(firstOf(x, view.inner)), view.inner,
                           (double)view.each());
  if (view.parts() == 1)
    return part;
  Moments of =
      momentsOf(part.mean, firstOf(part.mean, 0), 0, (double)view.parts());
  Expr squares = sumOver(part.squares, 0) + of.squares * (double)view.each();
  return {of.mean, squares};
}

/// Of a batch: mean, population variance, and the variance that updates the
/// running variance.
struct Statistics {
  Expr mean, var, running;
};
Statistics ofThisRank(const Moments &moments, double n, bool unbiased) {
  Expr squares = maximum(moments.squares, 0);
  Expr var = squares / n;
  return {moments.mean, var, unbiased && n > 1 ? squares / (n - 1) : var};
}

/// Sums over ranks in f64: two values per channel, and how many elements.
struct Sums {
  Expr a, b, n;
};
Sums overRanks(Expr a, Expr b, double n, IntegerAttr bucket) {
  Type f64 = Float64Type::get(bucket.getContext());
  const int64_t channels = a.type().getNumElements();
  Expr count = a.make<ConstantOp>(n, RankedTensorType::get({1}, f64));
  Expr sent = joined(
      {a.cast(f64).reshape({channels}), b.cast(f64).reshape({channels}), count},
      0);
  Expr sum =
      a.make<AllReduceOp>(sent.type(), sent.v, bucket, nullptr, Combine::sum);
  auto part = [&](int64_t at, int64_t size, Ints shape) {
    return ir::part(sum, 0, at, size).reshape(shape);
  };
  return {part(0, channels, a.shape()), part(channels, channels, a.shape()),
          part(2 * channels, 1, {})};
}

/// Sums squares of the values themselves, since ranks do not know the others'
/// mean. f64 avoids the cancellation that f32 would have.
Statistics ofAllRanks(const Moments &moments, double n, bool unbiased,
                      IntegerAttr bucket) {
  Type own = moments.mean.element();
  Type f64 = Float64Type::get(bucket.getContext());
  Expr mean = moments.mean.cast(f64);
  Sums sums = overRanks(mean * n, moments.squares.cast(f64) + mean * mean * n,
                        n, bucket);
  Expr all = sums.a / sums.n;
  Expr squares = maximum(sums.b - all * sums.a, 0);
  Expr var = squares / sums.n;
  Expr running = unbiased ? squares / maximum(sums.n - 1.0, 1) : var;
  return {all.cast(own), var.cast(own), running.cast(own)};
}

auto batchNorm(Decomposition<BatchNormOp> &d) {
  BatchNormOp op = d.op;
  Expr x = d.expr(op.getX());
  ChannelView view(x.type(), op.getLayout());
  double n = (double)view.count(),
         momentum = op.getMomentum().convertToDouble();
  Moments moments = momentsOf(x, view);
  auto bucket = op->getAttrOfType<IntegerAttr>(kNormBucket);
  auto [mean, var, running] =
      bucket ? ofAllRanks(moments, n, op.getUnbiased(), bucket)
             : ofThisRank(moments, n, op.getUnbiased());
  auto moved = [&](Value old, Expr batch) {
    return view.vector(d(old)) * momentum + batch * (1 - momentum);
  };
  Expr newMean = moved(op.getMean(), mean),
       newVar = moved(op.getVar(), running);
  Expr rstd = rsqrt(var + op.getEpsilon().convertToDouble());
  Expr factor = view.vector(d(op.getScale())) * rstd;
  Expr y = (wide(x) - view.ofImages(mean)) * view.ofImages(factor) +
           view.ofImages(d(op.getBias()));
  return d.results({y, newMean, newVar, mean, var});
}

/// Two norms with the same input gradient have equal sums; but all-reduces work
/// in place, so each norm needs its own.
void keepApart(Value sum, Value scale) {
  while (Operation *op = scale.getDefiningOp()) {
    if (auto read = dyn_cast<ReadOp>(op))
      sum.getDefiningOp()->setDiscardableAttr(kApart, read.getStateAttr());
    if (op->getNumOperands() != 1)
      return;
    scale = op->getOperand(0);
  }
}

/// With c = x - mean: dx = scale rstd (dy - mean(dy) - c rstd^2 mean(dy c)).
auto batchNormBackward(Decomposition<BatchNormBackwardOp> &d) {
  BatchNormBackwardOp op = d.op;
  Expr x = d.expr(op.getX());
  ChannelView view(x.type(), op.getLayout());
  Expr dy = wide(regroup(d.expr(op.getDy()), view, x, op));
  Expr mean = view.vector(d(op.getSavedMean()));
  Expr centered = wide(x.reshape(view.shape)) - mean;
  Expr sum = sumOver(dy, view.inner);
  Expr product = sumOver(dy * centered, view.inner);
  if (view.parts() > 1) {
    sum = sumOver(sum, 0);
    product = sumOver(product, 0);
  }
  Expr rstd = rsqrt(view.vector(d(op.getSavedVar())) +
                    op.getEpsilon().convertToDouble());
  Expr factor = view.vector(d(op.getScale())) * rstd;
  keepApart(sum, op.getScale());
  double n = (double)view.count();
  Expr offset = sum / n, share = product / n;
  if (auto bucket = op->getAttrOfType<IntegerAttr>(kNormBucket)) {
    Type own = sum.element();
    Sums sums = overRanks(sum, product, n, bucket);
    offset = (sums.a / sums.n).cast(own);
    share = (sums.b / sums.n).cast(own);
  }
  Expr slope = share * rstd * rstd;
  Expr dscale = product * rstd;
  Expr dx = (dy - offset - centered * slope) * factor;
  return d.results({dx, dscale, sum});
}

} // namespace
} // namespace dlc::ir

using namespace dlc::ir;

void dlc::attachBatchNormDecompositions(MLIRContext &c) {
  decomposition<BatchNormOp>(c, [](auto &d) { return batchNorm(d); });
  decomposition<BatchNormBackwardOp>(
      c, [](auto &d) { return batchNormBackward(d); });
}
