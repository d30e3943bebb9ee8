// SPDX-License-Identifier: Apache-2.0
// Softmax, layer norm and inference batch norm in simpler ops.
#include "compiler/dialect/ops/Windows.h"
#include "compiler/lower/decompose/Decompositions.h"
#include "compiler/lower/decompose/Rows.h"

using namespace mlir;

namespace dlc::ir {
namespace {

using Axes = SmallVector<int64_t>;

Axes only(int64_t axis) { return {axis}; }

Expr sumOver(Expr x, Ints axes) { return x.sum(axes, true); }
Expr meanOver(Expr x, Ints axes) { return x.mean(axes, true); }

/// x minus its maximum along `axis`, so that exponentials do not overflow.
Expr shifted(Expr x, int64_t axis) { return x - x.max(only(axis), true); }

auto softmax(Decomposition<SoftmaxOp> &d) {
  int64_t axis = d.op.getAxis();
  Expr e = exp(shifted(d(d.op.getX()), axis));
  return d.results({e / sumOver(e, only(axis))});
}
auto logSoftmax(Decomposition<LogSoftmaxOp> &d) {
  int64_t axis = d.op.getAxis();
  Expr x = shifted(d(d.op.getX()), axis);
  return d.results({x - log(sumOver(exp(x), only(axis)))});
}
auto softmaxBackward(Decomposition<SoftmaxBackwardOp> &d) {
  Expr y = d(d.op.getY()), dy = d(d.op.getDy());
  return d.results({y * (dy - sumOver(dy * y, only(d.op.getAxis())))});
}
auto logSoftmaxBackward(Decomposition<LogSoftmaxBackwardOp> &d) {
  Expr y = d(d.op.getY()), dy = d(d.op.getDy());
  return d.results({dy - exp(y) * sumOver(dy, only(d.op.getAxis()))});
}

/// Two passes over the row: E[x^2] - E[x]^2 would cancel.
auto layerNorm(Decomposition<LayerNormOp> &d) {
  Expr x = d(d.op.getX());
  Axes inner = axesBetween(d.op.getAxis(), x.rank());
  Expr mean = meanOver(x, inner), centered = x - mean;
  Expr variance = meanOver(centered * centered, inner);
  Expr rstd = rsqrt(variance + d.op.getEpsilon().convertToDouble());
  Expr y = centered * rstd * d(d.op.getScale()) + d(d.op.getBias());
  return d.results({y, mean, rstd});
}
auto layerNormBackward(Decomposition<LayerNormBackwardOp> &d) {
  Expr dy = d(d.op.getDy()), x = d(d.op.getX()), rstd = d(d.op.getRstd());
  int64_t axis = d.op.getAxis();
  Axes outer = axesBetween(0, axis), inner = axesBetween(axis, x.rank());
  Expr xhat = (x - d(d.op.getMean())) * rstd, g = dy * d(d.op.getScale());
  Expr dx = rstd * (g - meanOver(g, inner) - xhat * meanOver(g * xhat, inner));
  return d.results({dx, sumOver(dy * xhat, outer), sumOver(dy, outer)});
}

/// A multiply-add each: scale' = scale rstd, bias' = bias - mean scale'.
auto batchNormInfer(Decomposition<BatchNormInferOp> &d) {
  Expr x = d(d.op.getX());
  int64_t channel = imageDims(d.op, d.op.getX()).channel();
  Axes shape(x.rank(), 1);
  shape[channel] = x.shape()[channel];
  Expr rstd = rsqrt(d(d.op.getVar()) + d.op.getEpsilon().convertToDouble());
  Expr scale = d(d.op.getScale()) * rstd;
  Expr bias = d(d.op.getBias()) - d(d.op.getMean()) * scale;
  return d.results({x * scale.reshape(shape) + bias.reshape(shape)});
}

} // namespace
} // namespace dlc::ir

using namespace dlc::ir;

void dlc::attachNormDecompositions(MLIRContext &c) {
  decomposition<SoftmaxOp>(c, [](auto &d) { return softmax(d); });
  decomposition<LogSoftmaxOp>(c, [](auto &d) { return logSoftmax(d); });
  decomposition<SoftmaxBackwardOp>(c,
                                   [](auto &d) { return softmaxBackward(d); });
  decomposition<LogSoftmaxBackwardOp>(
      c, [](auto &d) { return logSoftmaxBackward(d); });
  decomposition<LayerNormOp>(c, [](auto &d) { return layerNorm(d); });
  decomposition<LayerNormBackwardOp>(
      c, [](auto &d) { return layerNormBackward(d); });
  decomposition<BatchNormInferOp>(c, [](auto &d) { return batchNormInfer(d); });
}
