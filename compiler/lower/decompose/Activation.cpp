// SPDX-License-Identifier: Apache-2.0
// Gradients of activations that are not epilogues of a library's product.
#include "compiler/lower/decompose/Decompositions.h"
#include "compiler/lower/decompose/Rows.h"
#include <numbers>

using namespace mlir;

namespace dlc::ir {
namespace {

auto reluBackward(Decomposition<ReluBackwardOp> &d) {
  Expr dy = d.expr(d.op.getDy()), y = d.expr(d.op.getY());
  Expr isOff = y <= 0;
  return d.results({select(isOff, 0, dy)});
}

Expr geluSlope(Expr x, bool tanhForm) {
  using namespace std::numbers;
  if (!tanhForm) {
    Expr cdf = 0.5 * (erf(x * (1 / sqrt2)) + 1.0);
    return cdf + x * exp(x * x * -0.5) * (inv_sqrtpi / sqrt2);
  }
  const double k = sqrt2 * inv_sqrtpi, c = 0.044715;
  Expr t = tanh((x + x * x * x * c) * k);
  return 0.5 * (t + 1.0) +
         0.5 * x * (1.0 - t * t) * ((1.0 + 3 * c * (x * x)) * k);
}

auto geluBackward(Decomposition<GeluBackwardOp> &d) {
  Expr dy = d(d.op.getDy()), x = d(d.op.getX());
  return d.results({dy * geluSlope(x, d.op.getTanh())});
}

} // namespace
} // namespace dlc::ir

using namespace dlc::ir;

void dlc::attachActivationDecompositions(MLIRContext &c) {
  decomposition<ReluBackwardOp>(c, [](auto &d) { return reluBackward(d); });
  decomposition<GeluBackwardOp>(c, [](auto &d) { return geluBackward(d); });
}
