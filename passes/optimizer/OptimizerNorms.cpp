// SPDX-License-Identifier: Apache-2.0
// The optimizers that look at a whole parameter: its norm, or its singular
// values.
#include "passes/optimizer/OptimizerRules.h"
#include <cmath>

using namespace mlir;
using dlc::ir::Expr;

namespace dlc {

using Exprs = Rule::Exprs;
using Moments = Rule::Moments;

static Expr norm(Expr x) {
  return sqrt((x * x).sum(ir::axesBetween(0, x.rank())));
}

//===--- lamb: timm/optim/lamb.py -----------------------------------------===//

/// Gradients have a common norm of at most 1.
void boundGradients(Step &step, ArrayRef<ir::GradientOp> gradients) {
  SmallVector<Value> all;
  for (ir::GradientOp g : gradients)
    all.push_back(g.getValue());
  auto f32 = RankedTensorType::get({}, step.builder.getF32Type());
  Expr total = step.expr(
      ir::GlobalNormOp::create(step.builder, step.f.getLoc(), f32, all));
  step.multiplyGradients(1.0 / maximum(total, total.scalar(1)), gradients);
}

Moments lambMoments(const OptimizerOptions &) { return {{"m"}, {"v"}}; }
Exprs lambScalars(const Rates &r, const OptimizerOptions &o) {
  Expr n = r.t + 1.0;
  return {r.lr, 1.0 - pow(r.momentum, n),
          sqrt(1.0 - pow(n.scalar(*o.beta2), n)), r.momentum, 1.0 - r.momentum};
}
/// ||w|| / ||u||, 1 where either is 0.
static Expr trust(Expr w, Expr u) {
  Expr a = norm(w), b = norm(u), zero = a.scalar(0), one = a.scalar(1);
  Expr ratio = select(compare(ir::Predicate::gt, b, zero), a / b, one);
  return select(compare(ir::Predicate::gt, a, zero), ratio, one);
}
/// The ratio is that of layers with weight decay.
Exprs lamb(const Update &u) {
  const OptimizerOptions &o = u.options;
  Expr lr = u.scalars[0];
  Expr m = u.moments[0] * u.scalars[3] + u.g * u.scalars[4];
  Expr v = averageOfSquares(u.moments[1], u.g, *o.beta2);
  Expr step = m / u.scalars[1] / (sqrt(v) / u.scalars[2] + *o.epsilon);
  if (*o.weightDecay == 0)
    return {u.w - lr * step, m, v};
  step = withDecay(step, u.w, o);
  return {u.w - lr * (step * trust(u.w, step)), m, v};
}

//===--- muon: torch/optim/_muon.py, in f32 where that has bf16 -----------===//

constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;
constexpr int kIterations = 5;

Moments muonMoments(const OptimizerOptions &) { return {{"m"}}; }
Exprs muonScalars(const Rates &r, const OptimizerOptions &o) {
  return {r.lr, r.momentum, 1.0 - r.momentum, 1.0 - r.lr * *o.weightDecay};
}
static Expr product(Expr a, Expr b, bool transA, bool transB) {
  return a.make<ir::MatmulOp>(a.v, b.v, Value(), transA, transB, StringAttr());
}
/// Moves the singular values to about 1 by Newton and Schulz's iteration:
/// X = a X + (b A + c A A) X with A = X X^T, or from the right where that is
/// smaller.
static Expr orthogonal(Expr x, double epsilon) {
  bool tall = x.shape()[0] > x.shape()[1];
  Expr length = norm(x);
  x = x / maximum(length, length.scalar(epsilon));
  for (int i = 0; i < kIterations; ++i) {
    Expr gram = product(x, x, tall, !tall);
    Expr factor = gram * kB + product(gram, gram, false, false) * kC;
    x = x * kA + (tall ? product(x, factor, false, false)
                       : product(factor, x, false, false));
  }
  return x;
}
Exprs muon(const Update &u) {
  const OptimizerOptions &o = u.options;
  Expr momentum = u.scalars[1], share = u.scalars[2];
  Expr m = average(u.moments[0], u.g, share);
  Expr step = *o.nesterov ? u.g * share + m * momentum : m;
  double rows = u.w.shape()[0], columns = u.w.shape()[1];
  Expr lr = u.scalars[0] * std::sqrt(std::max(1.0, rows / columns));
  Expr w = *o.weightDecay != 0 ? u.w * u.scalars[3] : u.w;
  return {w - lr * orthogonal(step, *o.epsilon), m};
}

} // namespace dlc
