// SPDX-License-Identifier: Apache-2.0
// Gradients of losses.
#include "passes/Gradients.h"
#include "passes/gradients/Rows.h"

using namespace mlir;

namespace dlc::ir {
namespace {

/// The gradient of the loss is a fused op; d lse / d logits is the softmax.
Values crossEntropy(Gradient<SoftmaxCrossEntropyOp> &g) {
  SoftmaxCrossEntropyOp op = g.op;
  Expr logits = g.operand(0), dx = g.expr({});
  if (g.dys[0])
    dx = logits.make<SoftmaxCrossEntropyBackwardOp>(g.dys[0], op.getLogits(),
                                                    op.getLabels(), op.getLse(),
                                                    op.getIgnoreIndexAttr());
  if (g.dys[1]) {
    SmallVector<int64_t> column{logits.shape()[0], 1};
    Expr lse = g.expr(op.getLse()).reshape(column);
    Expr through = exp(logits - lse) * g.expr(g.dys[1]).reshape(column);
    dx = dx.v ? dx + through : through;
  }
  return g.first(dx);
}

} // namespace
} // namespace dlc::ir

using namespace dlc::ir;

void dlc::attachLossGradients(MLIRContext &c) {
  grad<SoftmaxCrossEntropyOp>(c, [](auto &g) { return crossEntropy(g); });
}
