// SPDX-License-Identifier: Apache-2.0
// Optimizers that use a whole parameter: its norm, the means of its rows and
// columns, or its singular values.
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

/// Clips the norm of all gradients to 1.
void boundGradients(Step &step, ArrayRef<ir::GradientOp> gradients) {
  SmallVector<Value> all;
  for (ir::GradientOp g : gradients)
    all.push_back(g.getValue());
  auto f32 = RankedTensorType::get({}, step.builder.getF32Type());
  Expr total = step.expr(
      ir::GlobalNormOp::create(step.builder, step.f.getLoc(), f32, all));
  step.multiplyGradients(1.0 / maximum(total, 1), gradients);
}

Moments lambMoments(const OptimizerOptions &, int64_t) {
  return {{"m"}, {"v"}};
}
Exprs lambScalars(const Rates &r, const OptimizerOptions &o) {
  Expr n = r.t + 1.0;
  return {r.lr, 1.0 - pow(r.momentum, n),
          sqrt(1.0 - pow(n.scalar(*o.beta2), n)), r.momentum, 1.0 - r.momentum};
}
/// ||w|| / ||u||, 1 where either is 0.
static Expr trust(Expr w, Expr u) {
  Expr a = norm(w), b = norm(u), zero = a.scalar(0), one = a.scalar(1);
  Expr ratio = select(b > zero, a / b, one);
  return select(a > zero, ratio, one);
}
/// The trust ratio is used only with weight decay.
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

Moments muonMoments(const OptimizerOptions &, int64_t) { return {{"m"}}; }
Exprs muonScalars(const Rates &r, const OptimizerOptions &o) {
  return {r.lr, r.momentum, 1.0 - r.momentum, 1.0 - r.lr * *o.weightDecay};
}
/// Moves the singular values to about 1 by the Newton-Schulz iteration X = a X
/// + (b A + c A A) X with A = X X^T, or from the right if smaller.
static Expr orthogonal(Expr x, double epsilon) {
  bool tall = x.shape()[0] > x.shape()[1];
  Expr length = norm(x);
  x = x / maximum(length, epsilon);
  for (int i = 0; i < kIterations; ++i) {
    Expr gram = matmul(x, x, tall, !tall);
    Expr factor = gram * kB + matmul(gram, gram) * kC;
    x = x * kA + (tall ? matmul(x, factor) : matmul(factor, x));
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

//===--- lars: the paper's layers, timm/optim/lars.py's formula -----------===//

Moments larsMoments(const OptimizerOptions &o, int64_t) {
  return *o.momentum != 0 ? Moments{{"m"}} : Moments{};
}
Exprs larsScalars(const Rates &r, const OptimizerOptions &) {
  return {r.lr, r.momentum};
}
/// coefficient ||w|| / (||g|| + decay ||w||), 1 where a norm is 0. Vectors
/// (biases, scales of norms) are updated by sgd.
Exprs lars(const Update &u) {
  const OptimizerOptions &o = u.options;
  Expr g = withDecay(u.g, u.w, o), momentum = u.scalars[1];
  if (u.w.rank() > 1) {
    Expr a = norm(u.w), b = norm(u.g), zero = a.scalar(0), one = a.scalar(1);
    Expr ratio =
        a * *o.trustCoefficient / (b + a * *o.weightDecay + *o.epsilon);
    ratio = select(b > zero, ratio, one);
    g = g * select(a > zero, ratio, one);
  }
  if (u.moments.empty())
    return {u.w - u.scalars[0] * g};
  Expr m = u.moments[0] * momentum + g;
  return {u.w - u.scalars[0] * (*o.nesterov ? g + m * momentum : m), m};
}

//===--- adafactor: torch/optim/_adafactor.py -----------------------------===//

/// A matrix, or a stack of matrices, has means of squares by row and by column.
Moments adafactorMoments(const OptimizerOptions &, int64_t rank) {
  return rank > 1 ? Moments{{"vr", 0, 1}, {"vc", 0, 2}} : Moments{{"v"}};
}
Exprs adafactorScalars(const Rates &r, const OptimizerOptions &o) {
  Expr n = r.t + 1.0;
  return {pow(n, n.scalar(*o.beta2Decay)), minimum(r.lr, 1.0 / sqrt(n)),
          1.0 - r.lr * *o.weightDecay};
}
static Expr rootMeanSquare(Expr x) {
  return norm(x) / std::sqrt(double(x.type().getNumElements()));
}
Exprs adafactor(const Update &u) {
  const OptimizerOptions &o = u.options;
  const int64_t rank = u.w.rank();
  Expr share = u.scalars[0], squares = u.g * u.g, size = rootMeanSquare(u.w);
  size = maximum(size, *o.eps2) * u.scalars[1];
  auto mean = [&](Expr moment, int64_t axis) {
    return average(moment, squares.mean({axis}, true), share);
  };
  Exprs moments;
  if (rank > 1)
    moments = {mean(u.moments[0], rank - 1), mean(u.moments[1], rank - 2)};
  else
    moments = {average(u.moments[0], squares, share)};
  Expr v = moments[0];
  if (rank > 1) {
    Expr all = v.mean({rank - 2}, true);
    v = v * moments[1] / maximum(all, *o.epsilon);
  }
  Expr step = u.g * rsqrt(maximum(v, *o.epsilon * *o.epsilon));
  Expr excess = rootMeanSquare(step) / *o.clipThreshold;
  size = size / maximum(excess, 1);
  Expr w = *o.weightDecay != 0 ? u.w * u.scalars[2] : u.w;
  Exprs result{w - step * size};
  result.append(moments);
  return result;
}

} // namespace dlc
