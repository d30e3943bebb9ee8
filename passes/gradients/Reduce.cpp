// SPDX-License-Identifier: Apache-2.0
// Gradients of reductions: the result's gradient, broadcast over reduced axes.
#include "passes/Gradients.h"
#include "passes/gradients/Rows.h"

using namespace mlir;

namespace dlc::ir {
namespace {

SmallVector<int64_t> keptShape(Ints shape, Ints axes) {
  SmallVector<int64_t> kept(shape);
  for (int64_t axis : axes)
    kept[axis] = 1;
  return kept;
}

/// Restores the reduced dimensions of a result as dimensions of 1.
template <class OpTy> Expr kept(Gradient<OpTy> &g, Expr e) {
  return e.reshape(keptShape(g.operand(0).shape(), g.op.getAxes()));
}

/// Every element that equals the extremum gets an equal share.
template <class OpTy> Values toExtrema(Gradient<OpTy> &g) {
  Expr x = g.operand(0), dy = wide(kept(g, g.dy));
  Expr hit = x == kept(g, g.y);
  Expr count = hit.cast(dy.element()).sum(g.op.getAxes(), true);
  Expr dx = select(hit, (dy / count).broadcast(x.shape()), 0);
  return g.first(dx.cast(x.element()));
}

} // namespace
} // namespace dlc::ir

using namespace dlc::ir;

void dlc::attachReduceGradients(MLIRContext &c) {
  grad<ReduceSumOp>(c, [](auto &g) {
    return g.first(kept(g, g.dy).broadcast(g.operand(0).shape()));
  });
  grad<ReduceMeanOp>(c, [](auto &g) {
    double n = double(g.operand(0).type().getNumElements()) /
               g.y.type().getNumElements();
    return g.first((kept(g, g.dy) / n).broadcast(g.operand(0).shape()));
  });
  grad<ReduceMaxOp>(c, [](auto &g) { return toExtrema(g); });
  grad<ReduceMinOp>(c, [](auto &g) { return toExtrema(g); });
  noGradient<ArgMaxOp>(c);
}
