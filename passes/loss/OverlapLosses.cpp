// SPDX-License-Identifier: Apache-2.0
// Losses for imbalanced classes: dice by the overlap of each class, focal with
// lower weights for well-classified rows.
#include "passes/loss/LossKinds.h"
#include <limits>

using namespace mlir;
using dlc::ir::Expr;

namespace dlc {
namespace {

int64_t classesOf(RankedTensorType out, const LossOptions &options) {
  auto axis = classAxis(out.getRank(), options);
  return axis && out.getRank() > 1 ? out.getDimSize(*axis) : 0;
}

/// With a single class, logits are binary: labels are 0 and 1.
RankedTensorType overlapLabels(func::FuncOp predict, RankedTensorType out,
                               const LossOptions &options) {
  return classesOf(out, options) == 1 ? valueLabels(predict, out, options)
                                      : classLabels(predict, out, options);
}

Value belowProbability(Value out, const LossOptions &options) {
  return classesOf(ir::tensorType(out), options) == 1
             ? belowSigmoid(out, options)
             : belowSoftmax(out, options);
}

/// Labels as class probabilities in the logits' shape; `counts` is 0 where they
/// are ignored. Labels that are not a class give NaN.
struct Shares {
  Expr probabilities, labels;

  Shares(Expr x, Expr y, int64_t axis, const LossOptions &options)
      : probabilities(x), labels(y) {
    const int64_t classes = x.shape()[axis];
    Type element = x.element();
    const bool areClasses = classes > 1 && !options.softLabels;
    SmallVector<int64_t> one(x.shape());
    one[axis] = 1;
    probabilities =
        classes == 1 ? sigmoid(x) : x.make<ir::SoftmaxOp>(x.v, uint64_t(axis));
    if (areClasses)
      labels = y = y.reshape(one);
    std::optional<Expr> ignored;
    if (options.ignoreIndex)
      ignored = y == *options.ignoreIndex;
    if (areClasses)
      labels = hits(x, y, axis, ignored);
    if (!ignored)
      return;
    Expr counts = (!*ignored).cast(element);
    probabilities = probabilities * counts;
    labels = labels * counts;
  }

private:
  static Expr hits(Expr x, Expr y, int64_t axis,
                   const std::optional<Expr> &ignored) {
    Expr known = ignored ? select(*ignored, 0, y) : y;
    return select(outsideOf(known, x.shape()[axis]),
                  std::numeric_limits<double>::quiet_NaN(),
                  (iota(x, x.shape(), axis) == y).cast(x.element()));
  }
};

/// 1 - (2 sum(p y) + s) / (sum(p) + sum(y) + s) for each class of a sample, and
/// the weighted mean over classes.
LossRows diceLoss(Expr x, Expr y, const LossOptions &options) {
  const int64_t axis = *classAxis(x.rank(), options), rows = x.shape()[0],
                classes = x.shape()[axis];
  Shares shares(x, y, axis, options);
  SmallVector<int64_t> axes;
  for (int64_t d = 1; d < x.rank(); ++d)
    if (d != axis)
      axes.push_back(d);
  auto total = [&](Expr v) {
    return (axes.empty() ? v : v.sum(axes)).reshape({rows, classes});
  };
  Expr p = shares.probabilities, t = shares.labels;
  const double smooth = options.diceSmooth;
  Expr each =
      1.0 - (total(p * t) * 2.0 + smooth) / (total(p) + total(t) + smooth);
  if (options.classWeights.empty())
    return {each.mean({1}), nullptr};
  double sum = 0;
  for (double weight : options.classWeights)
    sum += weight;
  return {(each * constantOf(each, options.classWeights)).sum({1}) / sum,
          nullptr};
}

/// x^n for x >= 0, with a finite slope at 0.
Expr raised(Expr x, double n) {
  if (n == 0)
    return x.scalar(1).broadcast(x.shape());
  if (n == 1)
    return x;
  if (n == 2)
    return x * x;
  return pow(maximum(x, 1e-30), x.scalar(n));
}

/// (1 - p)^gamma times the cross entropy of each row.
LossRows focalLoss(Expr x, Expr y, const LossOptions &options) {
  x = rowsOfClasses(x, options);
  ClassTargets targets(x, y, options);
  auto op = targets.crossEntropy(x, options);
  Expr entropy(*x.b, x.loc, op.getLoss());
  Expr missing = maximum(1.0 - exp(-entropy), 0);
  return targets.rows(x, entropy * raised(missing, options.focalGamma), true);
}

/// torchvision's sigmoid_focal_loss.
LossRows binaryFocal(Expr x, Expr y, const LossOptions &options) {
  Expr grown = x.make<ir::SoftplusOp>(x.v), p = sigmoid(x);
  Expr missing = p * (1.0 - y) + (1.0 - p) * y;
  Expr each = (grown - x * y) * raised(missing, options.focalGamma);
  if (options.focalAlpha) {
    const double alpha = *options.focalAlpha;
    each = each * (y * alpha + (1.0 - y) * (1 - alpha));
  }
  Expr right = (x > 0) == (y > 0.5);
  return {rowMeans(each), rowMeans(right.cast(x.element()))};
}

const LossKind overlapKinds[] = {
    {"dice", 1, labelled<overlapLabels>, belowProbability, rowsOf<diceLoss>},
    {"focal", 1, labelled<classLabels>, belowSoftmax, rowsOf<focalLoss>},
    {"binary_focal", 1, labelled<valueLabels>, belowSigmoid,
     rowsOf<binaryFocal>},
};

} // namespace

LossFamily overlapLosses() { return overlapKinds; }

} // namespace dlc
