#include "passes/Schedule.h"
#include <numbers>

using namespace mlir;
using dlc::ir::Expr;

namespace dlc {
namespace {

Expr maximum(Expr a, Expr b) { return a.make<ir::MaxOp>(a.v, b.v); }
Expr minimum(Expr a, Expr b) { return a.make<ir::MinOp>(a.v, b.v); }

using Curve = FailureOr<Expr> (*)(Step &, Expr, double,
                                  const ScheduleOptions &);

FailureOr<Expr> constant(Step &, Expr t, double base, const ScheduleOptions &) {
  return t.scalar(base);
}

/// base * rate^floor(t / steps)
FailureOr<Expr> stepwise(Step &, Expr t, double base,
                         const ScheduleOptions &o) {
  Expr decays = t / double(o.decaySteps);
  decays = decays.make<ir::FloorOp>(decays.v);
  return pow(t.scalar(o.decayRate), decays) * base;
}

/// min + (base - min) (1 + cos(pi t / T)) / 2, then min. T counts the updates
/// after the warm-up.
FailureOr<Expr> cosine(Step &step, Expr t, double base,
                       const ScheduleOptions &o) {
  auto state = step.addScalar("schedule.steps", step.builder.getI64Type(),
                              ir::Role::step, o.totalSteps);
  if (!state)
    return failure();
  Expr total = step.read(state).cast(ir::elementType(t)) - double(o.warmup);
  total = maximum(total, t.scalar(1));
  Expr angle = minimum(t, total) / total * std::numbers::pi;
  return (cos(angle) + 1.0) * ((base - o.minLr) / 2) + o.minLr;
}

const std::pair<StringRef, Curve> curves[] = {
    {"constant", constant}, {"step", stepwise}, {"cosine", cosine}};

LogicalResult check(Operation *where, double base, const ScheduleOptions &o) {
  if (!(base >= 0))
    return where->emitError()
           << "expected a learning rate of at least 0, found " << base;
  if (o.warmup < 0 || o.totalSteps < 0)
    return where->emitError("expected warm-up and total steps of at least 0");
  if (o.decaySteps < 1)
    return where->emitError()
           << "expected at least 1 step between decays, found " << o.decaySteps;
  if (o.totalSteps && o.warmup >= o.totalSteps)
    return where->emitError()
           << "a warm-up of " << o.warmup << " steps leaves none of the "
           << o.totalSteps << " of the training";
  return success();
}

} // namespace

FailureOr<Expr> learningRate(Step &step, Expr t, double base,
                             const ScheduleOptions &o) {
  if (failed(check(step.f, base, o)))
    return failure();
  for (auto [name, curve] : curves) {
    if (name != o.name)
      continue;
    FailureOr<Expr> rate =
        curve(step, o.warmup ? t - double(o.warmup) : t, base, o);
    if (failed(rate) || !o.warmup)
      return rate;
    Expr warming = compare(ir::Predicate::lt, t, t.scalar(o.warmup));
    return select(warming, (t + 1.0) * (base / o.warmup), *rate);
  }
  return step.f.emitError()
         << "schedule '" << o.name
         << "' is not known, expected constant, step or cosine";
}

} // namespace dlc
