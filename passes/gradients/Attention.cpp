// SPDX-License-Identifier: Apache-2.0
// The gradient of attention. The mask has none: dlc-fuse-attention only takes
// masks that do not depend on parameters.
#include "passes/Gradients.h"
#include "passes/gradients/Rows.h"

using namespace mlir;

namespace dlc::ir {

static FailureOr<Values> attention(Gradient<AttentionOp> &g) {
  AttentionOp op = g.op;
  if (g.dys[1])
    return op.emitOpError("has no gradient through its log-sum-exp");
  auto backward = AttentionBackwardOp::create(
      g.builder, op.getLoc(), g.dy, op.getQ(), op.getK(), op.getV(), op.getY(),
      op.getLse(), op.getMask(), op.getScaleAttr(), op.getCausalAttr(),
      op.getLayoutAttr(), op.getByAttr());
  Values values(backward->getResults());
  values.resize(op->getNumOperands());
  return values;
}

} // namespace dlc::ir

using namespace dlc::ir;

void dlc::attachAttentionGradients(MLIRContext &c) {
  grad<AttentionOp>(c, [](auto &g) { return attention(g); });
}
