// SPDX-License-Identifier: Apache-2.0
#include "passes/optimizer/LearningRate.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using dlc::ir::Expr;

namespace dlc {
namespace {

Expr ceil(Expr a) { return a.make<ir::CeilOp>(a.v); }

/// Interpolates from `start` to `end` by x in [0, 1], along a cosine.
Expr anneal(Expr x, Expr start, Expr end) {
  return end + (start - end) * (cos(x * std::numbers::pi) + 1.0) * 0.5;
}

/// The progress of training, in updates or in epochs.
class Time {
public:
  Time(Step &step, Expr updates, const ScheduleOptions &o)
      : step(step), o(o), since(updates) {}

  LogicalResult start() {
    if (!o.perEpoch)
      return success();
    FailureOr<Expr> updates = read("schedule.epoch_steps", 0);
    if (failed(updates))
      return failure();
    epoch = maximum(*updates, 1);
    since = floor(since / *epoch);
    return success();
  }

  /// Updates (or epochs) done; with a warm-up, since its end.
  Expr done() const { return since; }
  void endWarmup() { since = since - double(o.warmup); }

  /// Length of the training after the warm-up, at least 1.
  FailureOr<Expr> length() {
    if (total)
      return *total;
    FailureOr<Expr> updates = read("schedule.steps", o.totalSteps);
    if (failed(updates))
      return failure();
    Expr all = epoch ? ceil(*updates / *epoch) : *updates;
    total = maximum(o.warmup ? all - double(o.warmup) : all, 1);
    return *total;
  }

  /// How often `dlc train` has reduced the rate.
  FailureOr<Expr> reductions() {
    Type f64 = since.element();
    auto state = step.addState("plateau", RankedTensorType::get({4}, f64),
                               ir::Role::step, FloatAttr::get(f64, 0));
    if (!state)
      return failure();
    return part(step.read(state), 0, 0, 1).reshape({});
  }

private:
  FailureOr<Expr> read(StringRef name, int64_t init) {
    auto state =
        step.addScalar(name, step.builder.getI64Type(), ir::Role::step, init);
    if (!state)
      return failure();
    return step.read(state).cast(since.element());
  }

  Step &step;
  const ScheduleOptions &o;
  Expr since;
  std::optional<Expr> epoch; // updates per epoch, if epochs are used
  std::optional<Expr> total; // the result of length()
};

using Curve = FailureOr<Expr> (*)(Time &, double, const ScheduleOptions &);

FailureOr<Expr> constant(Time &time, double base, const ScheduleOptions &) {
  return time.done().scalar(base);
}

/// base * rate^floor(t / steps)
FailureOr<Expr> stepwise(Time &time, double base, const ScheduleOptions &o) {
  Expr t = time.done();
  return pow(t.scalar(o.decayRate), floor(t / double(o.decaySteps))) * base;
}

/// base * rate^(milestones <= t)
FailureOr<Expr> multistep(Time &time, double base, const ScheduleOptions &o) {
  Expr t = time.done(), rate = t.scalar(base);
  for (int64_t milestone : o.milestones) {
    base *= o.decayRate;
    Expr before = t < milestone;
    rate = select(before, rate, base);
  }
  return rate;
}

/// base * rate^t
FailureOr<Expr> exponential(Time &time, double base, const ScheduleOptions &o) {
  return pow(time.done().scalar(o.decayRate), time.done()) * base;
}

/// max(base * factor^reductions, min)
FailureOr<Expr> plateau(Time &time, double base, const ScheduleOptions &o) {
  FailureOr<Expr> reductions = time.reductions();
  if (failed(reductions))
    return failure();
  Expr rate = pow(reductions->scalar(o.plateauFactor), *reductions) * base;
  return maximum(rate, o.minLr);
}

/// base / sqrt(1 + t / N)
FailureOr<Expr> inverseSqrt(Time &time, double base, const ScheduleOptions &o) {
  const int64_t warm = o.warmup ? o.warmup : 10'000;
  const double n = double(o.timescale ? o.timescale : warm);
  Expr t = time.done();
  return pow(t / n + 1.0, t.scalar(-0.5)) * base;
}

/// base, then in the last N steps down to min, with x from 0 to 1.
FailureOr<Expr> stableThenDecay(Time &time, double base,
                                const ScheduleOptions &o) {
  FailureOr<Expr> length = time.length();
  if (failed(length))
    return failure();
  Expr steps = minimum(*length, length->scalar(double(o.decaySteps)));
  Expr left = minimum((*length - time.done()) / steps, 1);
  Expr x = 1.0 - maximum(left, 0);
  Expr share = o.decay == "linear" ? 1.0 - x
               : o.decay == "sqrt" ? 1.0 - sqrt(x)
                                   : anneal(x, x.scalar(1), x.scalar(0));
  return share * (base - o.minLr) + o.minLr;
}

/// base * (start + (end - start) min(t, T) / T)
FailureOr<Expr> linear(Time &time, double base, const ScheduleOptions &o) {
  FailureOr<Expr> length = time.length();
  if (failed(length))
    return failure();
  Expr share = minimum(time.done(), *length) / *length;
  return share * (base * (o.endFactor - o.startFactor)) + base * o.startFactor;
}

/// min + (base - min) (1 - min(t, T) / T)^power
FailureOr<Expr> polynomial(Time &time, double base, const ScheduleOptions &o) {
  FailureOr<Expr> length = time.length();
  if (failed(length))
    return failure();
  Expr left = 1.0 - minimum(time.done(), *length) / *length;
  return pow(left, left.scalar(o.power)) * (base - o.minLr) + o.minLr;
}

/// Cycle i is N mult^i long and starts at N (mult^i - 1) / (mult - 1).
Expr cosineCycles(Expr t, double base, const ScheduleOptions &o) {
  double n = double(o.cycleSteps), m = double(o.cycleMult);
  Expr cycle = floor(t / n), length = t.scalar(n), start = cycle * n;
  if (o.cycleMult > 1) {
    // Half a step further than t, so that rounding cannot cross a start.
    Expr cycles = log((t + 0.5) * ((m - 1) / n) + 1.0) / std::log(m);
    cycle = maximum(floor(cycles), 0);
    length = round(pow(t.scalar(m), cycle)) * n;
    start = (length - n) / (m - 1);
  }
  Expr peak = o.cycleDecay == 1 ? t.scalar(base)
                                : pow(t.scalar(o.cycleDecay), cycle) * base;
  return anneal((t - start) / length, peak, t.scalar(o.minLr));
}

/// min + (base - min) (1 + cos(pi t / T)) / 2, then min.
FailureOr<Expr> cosine(Time &time, double base, const ScheduleOptions &o) {
  Expr t = time.done();
  if (o.cycleSteps)
    return cosineCycles(t, base, o);
  FailureOr<Expr> length = time.length();
  if (failed(length))
    return failure();
  Expr angle = minimum(t, *length) / *length * std::numbers::pi;
  return (cos(angle) + 1.0) * ((base - o.minLr) / 2) + o.minLr;
}

/// From `start` to `peak` until t = pct T - 1, then to `end` at T - 1, both
/// along a cosine.
FailureOr<Expr> cycle(Time &time, double start, double peak, double end,
                      const ScheduleOptions &o) {
  FailureOr<Expr> length = time.length();
  if (failed(length))
    return failure();
  Expr last = *length - 1.0, top = *length * o.pctStart - 1.0;
  Expr t = minimum(maximum(time.done(), 0), last);
  Expr up = anneal(t / maximum(top, 1), t.scalar(start), t.scalar(peak));
  Expr down = anneal((t - top) / (last - top), t.scalar(peak), t.scalar(end));
  return select(t <= top, up, down);
}

FailureOr<Expr> oneCycle(Time &time, double base, const ScheduleOptions &o) {
  double start = base / o.divFactor;
  return cycle(time, start, base, start / o.finalDivFactor, o);
}

const std::pair<StringRef, Curve> curves[] = {
    {"constant", constant},
    {"step", stepwise},
    {"multistep", multistep},
    {"linear", linear},
    {"cosine", cosine},
    {"polynomial", polynomial},
    {"onecycle", oneCycle},
    {"exponential", exponential},
    {"inverse_sqrt", inverseSqrt},
    {"wsd", stableThenDecay},
    {"plateau", plateau},
};

} // namespace

std::vector<std::string> scheduleNames() {
  std::vector<std::string> names;
  for (auto &[name, curve] : curves)
    names.push_back(name.str());
  return names;
}

/// Linear until t = warmup: base (t + 1) / N, or from a factor F on
/// base (F + (1 - F) t / N).
static Expr warmUp(Expr t, double base, const ScheduleOptions &o) {
  if (!o.warmupStart)
    return (t + 1.0) * (base / o.warmup);
  return t * (base * (1 - *o.warmupStart) / o.warmup) + base * *o.warmupStart;
}

FailureOr<Pace> paceOf(Step &step, Expr t, double base,
                       const ScheduleOptions &o) {
  auto row = llvm::find_if(curves, [&](auto &c) { return c.first == o.name; });
  Time time(step, t, o);
  if (failed(time.start()))
    return failure();
  Expr done = time.done();
  if (o.warmup)
    time.endWarmup();
  FailureOr<Expr> rate = row->second(time, base, o);
  if (failed(rate))
    return failure();
  Pace pace{*rate, std::nullopt};
  if (o.warmup) {
    Expr warming = done < o.warmup;
    pace.lr = select(warming, warmUp(done, base, o), pace.lr);
  }
  if (o.name == "onecycle" && o.cycleMomentum)
    pace.momentum =
        *cycle(time, o.maxMomentum, o.baseMomentum, o.maxMomentum, o);
  return pace;
}

} // namespace dlc
