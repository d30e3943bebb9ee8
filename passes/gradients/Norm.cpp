// SPDX-License-Identifier: Apache-2.0
// Gradients of normalisation and softmax.
#include "compiler/dialect/ops/Windows.h"
#include "passes/Gradients.h"
#include "passes/gradients/Rows.h"

using namespace mlir;

namespace dlc::ir {
namespace {

/// All results of `op`, and nulls for the operands without a gradient.
Values resultsOf(Operation *op, size_t operands) {
  Values values(op->getResults());
  values.resize(operands);
  return values;
}

Values batchNorm(Gradient<BatchNormOp> &g) {
  BatchNormOp op = g.op;
  if (!g.dy.v) // only the running statistics are used
    return g.none();
  auto backward = BatchNormBackwardOp::create(
      g.builder, op.getLoc(), g.dy, op.getX(), op.getScale(), op.getSavedMean(),
      op.getSavedVar(), op.getEpsilon(), op.getLayout());
  return resultsOf(backward, op->getNumOperands());
}

/// y = (x - mean) rstd scale + bias per channel, rstd = 1 / sqrt(var +
/// epsilon).
Values batchNormInfer(Gradient<BatchNormInferOp> &g) {
  BatchNormInferOp op = g.op;
  Expr x = wide(g.operand(0)), dy = wide(g.dy);
  SmallVector<int64_t> axes = axesBetween(0, x.rank()), shape(x.rank(), 1);
  int64_t channel = imageDims(op, op.getX()).channel();
  axes.erase(axes.begin() + channel);
  shape[channel] = x.shape()[channel];
  auto perChannel = [&](unsigned i) {
    return wide(g.operand(i)).reshape(shape);
  };
  Expr scale = perChannel(1), mean = perChannel(3), var = perChannel(4);
  Expr rstd = rsqrt(var + op.getEpsilon().convertToDouble());
  Expr factor = scale * rstd;
  Expr dbias = dy.sum(axes, true);
  Expr dfactor = (dy * (x - mean)).sum(axes, true);
  Expr gradients[] = {dy * factor, dfactor * rstd, dbias, -(dbias * factor),
                      dfactor * scale * -0.5 * (rstd * rstd * rstd)};
  Values values;
  for (auto [i, dx] : llvm::enumerate(gradients)) {
    Expr operand = g.operand(i);
    values.push_back(dx.reshape(operand.shape()).cast(operand.element()));
  }
  return values;
}

FailureOr<Values> layerNorm(Gradient<LayerNormOp> &g) {
  LayerNormOp op = g.op;
  if (g.dys[1] || g.dys[2])
    return op.emitOpError("has no gradient through its mean and rstd");
  return resultsOf(LayerNormBackwardOp::create(
                       g.builder, op.getLoc(), g.dy, op.getX(), op.getScale(),
                       op.getMean(), op.getRstd(), op.getAxis()),
                   3);
}

} // namespace
} // namespace dlc::ir

using namespace dlc::ir;

void dlc::attachNormGradients(MLIRContext &c) {
  grad<BatchNormOp>(c, [](auto &g) { return batchNorm(g); });
  grad<BatchNormInferOp>(c, [](auto &g) { return batchNormInfer(g); });
  grad<LayerNormOp>(c, [](auto &g) { return layerNorm(g); });
  grad<SoftmaxOp>(c, [](auto &g) {
    return g.first(
        g.dy.template make<SoftmaxBackwardOp>(g.dy.v, g.y.v, g.op.getAxis()));
  });
  grad<LogSoftmaxOp>(c, [](auto &g) {
    return g.first(g.dy.template make<LogSoftmaxBackwardOp>(g.dy.v, g.y.v,
                                                            g.op.getAxis()));
  });
}
