#include "passes/OptimizerRules.h"

using namespace mlir;
using dlc::ir::Expr;

namespace dlc {

Expr average(Expr m, Expr g, Expr oneMinusBeta) {
  return m + (g - m) * oneMinusBeta;
}
Expr averageOfSquares(Expr v, Expr g, double beta) {
  return v * beta + g * g * (1 - beta);
}
Expr withDecay(Expr g, Expr w, const OptimizerOptions &o) {
  return *o.weightDecay != 0 ? g + w * *o.weightDecay : g;
}

namespace {

using Exprs = Rule::Exprs;
using Moments = SmallVector<Moment>;

/// 1 - lr decay
Expr shrinkage(const Rates &r, const OptimizerOptions &o) {
  return 1.0 - r.lr * *o.weightDecay;
}
Expr shrunk(Expr w, Expr by, const OptimizerOptions &o) {
  return *o.weightDecay != 0 ? w * by : w;
}

//===--- sgd
//------------------------------------------------------------------//

Moments sgdMoments(const OptimizerOptions &o) {
  return *o.momentum != 0 ? Moments{{"m"}} : Moments{};
}
/// The first step is not dampened.
Exprs sgdScalars(const Rates &r, const OptimizerOptions &o) {
  Expr first = compare(ir::Predicate::eq, r.t, r.t.scalar(0));
  Expr share = select(first, r.t.scalar(1), r.t.scalar(1 - o.dampening));
  return {r.lr, r.momentum, share};
}
Exprs sgd(const Update &u) {
  const OptimizerOptions &o = u.options;
  Expr lr = u.scalars[0], momentum = u.scalars[1], share = u.scalars[2];
  Expr g = withDecay(u.g, u.w, o);
  if (u.moments.empty())
    return {u.w - lr * g};
  Expr m = u.moments[0] * momentum + (o.dampening != 0 ? g * share : g);
  Expr step = *o.nesterov ? g + m * momentum : m;
  return {u.w - lr * step, m};
}

//===--- adam, adamw
//----------------------------------------------------------//

Moments adamMoments(const OptimizerOptions &o) {
  return o.amsgrad ? Moments{{"m"}, {"v"}, {"vmax"}} : Moments{{"m"}, {"v"}};
}
/// n counts the updates with this one: lr / (1 - beta1^n), sqrt(1 - beta2^n).
Exprs adamScalars(const Rates &r, const OptimizerOptions &o) {
  Expr n = r.t + 1.0;
  return {r.lr / (1.0 - pow(r.momentum, n)),
          sqrt(1.0 - pow(n.scalar(*o.beta2), n)), 1.0 - r.momentum,
          shrinkage(r, o)};
}
template <bool decoupled> Exprs adam(const Update &u) {
  const OptimizerOptions &o = u.options;
  Expr size = u.scalars[0], correction = u.scalars[1], share = u.scalars[2];
  Expr w = decoupled ? shrunk(u.w, u.scalars[3], o) : u.w;
  Expr g = decoupled ? u.g : withDecay(u.g, u.w, o);
  Exprs moments{average(u.moments[0], g, share),
                averageOfSquares(u.moments[1], g, *o.beta2)};
  if (o.amsgrad)
    moments.push_back(w.make<ir::MaxOp>(u.moments[2].v, moments[1].v));
  Expr root = sqrt(moments.back()) / correction;
  Exprs result{w - size * (moments[0] / (root + *o.epsilon))};
  result.append(moments);
  return result;
}

//===--- rmsprop, rmsprop_tf, adagrad
//-----------------------------------------//

Moments rmspropMoments(const OptimizerOptions &o) {
  return *o.momentum != 0 ? Moments{{"v"}, {"m"}} : Moments{{"v"}};
}
Exprs rmspropScalars(const Rates &r, const OptimizerOptions &) {
  return {r.lr, r.momentum};
}
Exprs rmsprop(const Update &u) {
  const OptimizerOptions &o = u.options;
  Expr lr = u.scalars[0], momentum = u.scalars[1];
  Expr g = withDecay(u.g, u.w, o);
  Expr v = averageOfSquares(u.moments[0], g, *o.alpha);
  Expr step = g / (sqrt(v) + *o.epsilon);
  if (u.moments.size() == 1)
    return {u.w - lr * step, v};
  Expr m = u.moments[1] * momentum + step;
  return {u.w - lr * m, v, m};
}

/// As TensorFlow: averages start at 1, epsilon is under the root, the momentum
/// holds steps that are already scaled by the rate.
Moments rmspropTfMoments(const OptimizerOptions &o) {
  Moments moments = rmspropMoments(o);
  moments[0].init = 1;
  return moments;
}
Exprs rmspropTf(const Update &u) {
  const OptimizerOptions &o = u.options;
  Expr lr = u.scalars[0], momentum = u.scalars[1];
  Expr g = withDecay(u.g, u.w, o), v = u.moments[0];
  v = v + (g * g - v) * (1 - *o.alpha);
  Expr step = lr * g / sqrt(v + *o.epsilon);
  if (u.moments.size() == 1)
    return {u.w - step, v};
  Expr m = u.moments[1] * momentum + step;
  return {u.w - m, v, m};
}

Moments adagradMoments(const OptimizerOptions &) { return {{"v"}}; }
Exprs adagradScalars(const Rates &r, const OptimizerOptions &) {
  return {r.lr};
}
Exprs adagrad(const Update &u) {
  Expr g = withDecay(u.g, u.w, u.options), v = u.moments[0] + g * g;
  return {u.w - u.scalars[0] * (g / (sqrt(v) + *u.options.epsilon)), v};
}

//===--- lion
//-----------------------------------------------------------------//

Moments lionMoments(const OptimizerOptions &) { return {{"m"}}; }
Exprs lionScalars(const Rates &r, const OptimizerOptions &o) {
  return {r.lr, r.momentum, 1.0 - r.momentum, shrinkage(r, o)};
}
Exprs lion(const Update &u) {
  const OptimizerOptions &o = u.options;
  Expr m = u.moments[0], w = shrunk(u.w, u.scalars[3], o);
  Expr direction = sign(m * u.scalars[1] + u.g * u.scalars[2]);
  return {w - u.scalars[0] * direction,
          average(m, u.g, m.scalar(1 - *o.beta2))};
}

const Rule rules[] = {
    {"sgd", sgdMoments, sgdScalars, sgd},
    {"adam", adamMoments, adamScalars, adam<false>},
    {"adamw", adamMoments, adamScalars, adam<true>},
    {"rmsprop", rmspropMoments, rmspropScalars, rmsprop},
    {"rmsprop_tf", rmspropTfMoments, rmspropScalars, rmspropTf},
    {"adagrad", adagradMoments, adagradScalars, adagrad},
    {"lion", lionMoments, lionScalars, lion},
};

} // namespace

const Rule *findRule(StringRef name) {
  for (const Rule &rule : rules)
    if (rule.name == name)
      return &rule;
  for (const Rule *rule : {&lambRule, &muonRule})
    if (rule->name == name)
      return rule;
  return nullptr;
}

} // namespace dlc
