// SPDX-License-Identifier: Apache-2.0
#include "passes/optimizer/OptimizerRules.h"

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
using Moments = Rule::Moments;

/// 1 - lr decay
Expr shrinkage(const Rates &r, const OptimizerOptions &o) {
  return 1.0 - r.lr * *o.weightDecay;
}
Expr shrunk(Expr w, Expr by, const OptimizerOptions &o) {
  return *o.weightDecay != 0 ? w * by : w;
}

//===--- sgd --------------------------------------------------------------===//

Moments sgdMoments(const OptimizerOptions &o, int64_t) {
  return *o.momentum != 0 ? Moments{{"m"}} : Moments{};
}
/// Dampening does not apply to the first step.
Exprs sgdScalars(const Rates &r, const OptimizerOptions &o) {
  Expr first = r.t == 0;
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

//===--- adam, adamw ------------------------------------------------------===//

Moments adamMoments(const OptimizerOptions &o, int64_t) {
  return o.amsgrad ? Moments{{"m"}, {"v"}, {"vmax"}} : Moments{{"m"}, {"v"}};
}
/// With n the number of updates including this one: lr / (1 - beta1^n), sqrt(1
/// - beta2^n).
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
    moments.push_back(maximum(u.moments[2], moments[1]));
  Expr root = sqrt(moments.back()) / correction;
  Exprs result{w - size * (moments[0] / (root + *o.epsilon))};
  result.append(moments);
  return result;
}

//===--- rmsprop, rmsprop_tf, adagrad -------------------------------------===//

Moments rmspropMoments(const OptimizerOptions &o, int64_t) {
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

/// As in TensorFlow: averages start at 1, epsilon is under the root, and the
/// momentum accumulates steps already scaled by the rate.
Moments rmspropTfMoments(const OptimizerOptions &o, int64_t rank) {
  Moments moments = rmspropMoments(o, rank);
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

Moments adagradMoments(const OptimizerOptions &, int64_t) { return {{"v"}}; }
Exprs adagradScalars(const Rates &r, const OptimizerOptions &) {
  return {r.lr};
}
Exprs adagrad(const Update &u) {
  Expr g = withDecay(u.g, u.w, u.options), v = u.moments[0] + g * g;
  return {u.w - u.scalars[0] * (g / (sqrt(v) + *u.options.epsilon)), v};
}

//===--- lion -------------------------------------------------------------===//

Moments lionMoments(const OptimizerOptions &, int64_t) { return {{"m"}}; }
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

/// Uses Adam's step once the second moment has enough samples (Liu et al. 2019:
/// rho > 5), and only the first moment before.
Exprs radamScalars(const Rates &r, const OptimizerOptions &o) {
  Expr n = r.t + 1.0, decay = pow(n.scalar(*o.beta2), n);
  const double limit = 2 / (1 - *o.beta2) - 1;
  Expr rho = limit - n * 2.0 * decay / (1.0 - decay);
  Expr share = (rho - 4.0) * (rho - 2.0) * limit /
               ((limit - 4) * (limit - 2) * rho) * (1.0 - decay);
  Expr enough = rho > 5;
  Expr one = rho.scalar(1), zero = rho.scalar(0);
  return {r.lr / (1.0 - pow(r.momentum, n)), 1.0 - r.momentum,
          select(enough, sqrt(share), one), select(enough, one, zero)};
}
Exprs radam(const Update &u) {
  const OptimizerOptions &o = u.options;
  Expr size = u.scalars[0] * u.scalars[2], enough = u.scalars[3];
  Expr g = withDecay(u.g, u.w, o);
  Expr m = average(u.moments[0], g, u.scalars[1]);
  Expr v = averageOfSquares(u.moments[1], g, *o.beta2);
  Expr root = (sqrt(v) + *o.epsilon) * enough + (1.0 - enough); // or 1
  return {u.w - size * (m / root), m, v};
}

//===--- nadam ------------------------------------------------------------===//

/// The momentum of update n, which grows to beta1 (Dozat 2016).
Expr growing(Expr n, const Rates &r, const OptimizerOptions &o) {
  return r.momentum * (1.0 - pow(n.scalar(0.96), n * *o.momentumDecay) * 0.5);
}
Expr nadamFactor(const Rates &r, const OptimizerOptions &o) {
  return growing(r.t + 1.0, r, o);
}
Exprs nadamScalars(const Rates &r, const OptimizerOptions &o) {
  Expr n = r.t + 1.0, mu = growing(n, r, o), next = growing(n + 1.0, r, o);
  return {r.lr * (1.0 - mu) / (1.0 - *r.product),
          r.lr * next / (1.0 - *r.product * next),
          1.0 - pow(n.scalar(*o.beta2), n), 1.0 - r.momentum, shrinkage(r, o)};
}
Exprs nadam(const Update &u) {
  const OptimizerOptions &o = u.options;
  Expr w = o.decoupledDecay ? shrunk(u.w, u.scalars[4], o) : u.w;
  Expr g = o.decoupledDecay ? u.g : withDecay(u.g, u.w, o);
  Expr m = average(u.moments[0], g, u.scalars[3]);
  Expr v = averageOfSquares(u.moments[1], g, *o.beta2);
  Expr root = sqrt(v / u.scalars[2]) + *o.epsilon;
  return {w - u.scalars[0] * (g / root) - u.scalars[1] * (m / root), m, v};
}

/// Numeric options by flag: the rule's default and the given value.
struct Number {
  StringRef flag;
  std::optional<double> OptimizerReads::*own;
  std::optional<double> OptimizerOptions::*given;
};
#define DLC_NUMBER(FLAG, MEMBER)                                               \
  { FLAG, &OptimizerReads::MEMBER, &OptimizerOptions::MEMBER }
const Number numbers[] = {DLC_NUMBER("momentum", momentum),
                          DLC_NUMBER("beta1", beta1),
                          DLC_NUMBER("beta2", beta2),
                          DLC_NUMBER("betas", beta1),
                          DLC_NUMBER("eps", epsilon),
                          DLC_NUMBER("alpha", alpha),
                          DLC_NUMBER("momentum-decay", momentumDecay),
                          DLC_NUMBER("beta2-decay", beta2Decay),
                          DLC_NUMBER("eps2", eps2),
                          DLC_NUMBER("clip-threshold", clipThreshold),
                          DLC_NUMBER("trust-coefficient", trustCoefficient)};
#undef DLC_NUMBER

bool readsFlag(const OptimizerReads &reads, StringRef flag) {
  for (const Number &number : numbers)
    if (flag == number.flag)
      return (reads.*number.own).has_value();
  if (flag == "nesterov")
    return reads.nesterov.has_value();
  if (flag == "dampening")
    return reads.dampening;
  if (flag == "decoupled-weight-decay")
    return reads.decoupledDecay;
  return flag != "amsgrad" || reads.amsgrad;
}

/// Defaults of Adam's paper.
OptimizerReads likeAdam(OptimizerReads own) {
  own.beta1 = 0.9;
  own.beta2 = 0.999;
  if (!own.epsilon)
    own.epsilon = 1e-8;
  return own;
}

const Rule rules[] = {
    {"sgd",
     {.lr = 1e-2, .momentum = 0, .nesterov = false, .dampening = true},
     sgdMoments,
     sgdScalars,
     sgd,
     nullptr,
     0,
     false,
     true},
    {"adam", likeAdam({.lr = 1e-3, .amsgrad = true}), adamMoments, adamScalars,
     adam<false>},
    {"adamw", likeAdam({.lr = 1e-3, .weightDecay = 1e-2, .amsgrad = true}),
     adamMoments, adamScalars, adam<true>},
    {"radam", likeAdam({.lr = 1e-3}), adamMoments, radamScalars, radam},
    {"nadam",
     likeAdam({.lr = 2e-3, .momentumDecay = 4e-3, .decoupledDecay = true}),
     adamMoments, nadamScalars, nadam, nullptr, 0, false, false, nadamFactor},
    {"adafactor",
     {.lr = 1e-2,
      .epsilon = 0x1p-23,
      .beta2Decay = -0.8,
      .eps2 = 1e-3,
      .clipThreshold = 1},
     adafactorMoments,
     adafactorScalars,
     adafactor,
     nullptr,
     0,
     true},
    {"lars",
     {.lr = 0.1,
      .momentum = 0.9,
      .epsilon = 1e-8,
      .trustCoefficient = 1e-3,
      .nesterov = false},
     larsMoments,
     larsScalars,
     lars,
     nullptr,
     0,
     true},
    {"rmsprop",
     {.lr = 1e-2, .momentum = 0, .epsilon = 1e-8, .alpha = 0.99},
     rmspropMoments,
     rmspropScalars,
     rmsprop},
    {"rmsprop_tf",
     {.lr = 1e-2, .momentum = 0, .epsilon = 1e-10, .alpha = 0.9},
     rmspropTfMoments,
     rmspropScalars,
     rmspropTf},
    {"adagrad",
     {.lr = 1e-2, .epsilon = 1e-10},
     adagradMoments,
     adagradScalars,
     adagrad,
     nullptr,
     0,
     false,
     true},
    {"lamb", likeAdam({.lr = 1e-3, .weightDecay = 1e-2, .epsilon = 1e-6}),
     lambMoments, lambScalars, lamb, boundGradients, 0, true},
    {"lion",
     {.lr = 1e-4, .beta1 = 0.9, .beta2 = 0.99},
     lionMoments,
     lionScalars,
     lion},
    {"muon",
     {.lr = 1e-3,
      .weightDecay = 0.1,
      .momentum = 0.95,
      .epsilon = 1e-7,
      .nesterov = true},
     muonMoments,
     muonScalars,
     muon,
     nullptr,
     2,
     true},
};

} // namespace

const Rule *findRule(StringRef name) {
  auto rule = llvm::find_if(rules, [&](auto &r) { return r.name == name; });
  return rule == std::end(rules) ? nullptr : rule;
}

std::vector<std::string> optimizerNames() {
  std::vector<std::string> names;
  for (const Rule &rule : rules)
    names.push_back(rule.name.str());
  return names;
}

bool optimizerReads(StringRef optimizer, StringRef flag) {
  const Rule *rule = findRule(optimizer);
  return rule && readsFlag(rule->reads, flag);
}

std::vector<std::string> readersOf(StringRef flag) {
  std::vector<std::string> names;
  for (const Rule &rule : rules)
    if (readsFlag(rule.reads, flag))
      names.push_back(rule.name.str());
  return names;
}

/// The default in the option's syntax; nullopt if the rule does not read it.
static std::optional<std::string> defaultText(const OptimizerReads &reads,
                                              StringRef flag) {
  if (flag == "lr" || flag == "weight-decay")
    return numberText(flag == "lr" ? reads.lr : reads.weightDecay);
  for (const Number &number : numbers)
    if (auto value = reads.*number.own; number.flag == flag && value)
      return numberText(*value) +
             (flag == "betas" ? "," + numberText(*reads.beta2) : "");
  return std::nullopt;
}

std::string defaultsText(StringRef flag) {
  std::vector<std::pair<std::string, std::string>> rows; // value, rules
  for (const Rule &rule : rules)
    if (auto text = defaultText(rule.reads, flag)) {
      auto row = llvm::find_if(rows, [&](auto &r) { return r.first == *text; });
      if (row == rows.end())
        rows.emplace_back(*text, rule.name.str());
      else
        row->second += ", " + rule.name.str();
    }
  std::string all;
  for (const auto &[value, names] : rows)
    all += (all.empty() ? "" : "; ") + value + ": " + names;
  return all;
}

std::string OptimizerOptions::wholeTensorRule() const {
  Words optimizers{name};
  for (StringRef group : groups)
    optimizers.push_back(group.rsplit(':').second.split(',').first.str());
  for (const std::string &optimizer : optimizers)
    if (const Rule *rule = findRule(optimizer); rule && rule->isOfWholeTensors)
      return optimizer;
  return noDecay == "none" ? "" : "--no-decay=" + noDecay;
}

void OptimizerOptions::resolve() {
  const Rule *rule = findRule(name);
  if (!rule)
    return;
  const OptimizerReads &own = rule->reads;
  auto fill = [](std::optional<double> &field, std::optional<double> value) {
    if (!field)
      field = value;
  };
  fill(lr, own.lr);
  fill(weightDecay, own.weightDecay);
  if (own.momentum)
    fill(momentum, cycledMomentum);
  for (const Number &number : numbers)
    fill(this->*number.given, own.*number.own);
  if (!nesterov)
    nesterov = own.nesterov.value_or(false);
}

} // namespace dlc
