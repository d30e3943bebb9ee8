// SPDX-License-Identifier: Apache-2.0
// Undoes the loss scale after the all-reduce, so that every rank sees the same
// sum and the same overflow, and updates the scale: GradScaler's unscale_ and
// update as ops (torch/amp/grad_scaler.py). The host does not read the flag.
//   overflow: scale *= backoff, growth = 0
//   else:     growth += 1; at `interval`: scale *= factor unless that is
//   infinite, growth = 0
// With a hysteresis (Megatron's DynamicGradScaler) an overflow only backs off
// once the allowed number of overflows since the last growth is used up.
#include "passes/Passes.h"
#include "passes/Step.h"
#include "passes/scaler/Scaler.h"

using namespace mlir;
using dlc::ir::Expr;
using dlc::ir::Predicate;

namespace dlc {
#define GEN_PASS_DEF_UNSCALE
#include "passes/Passes.h.inc"
namespace {

struct Unscale : impl::UnscaleBase<Unscale> {
  Unscale() { reads<&StepOptions::scaler>(); }

  void runOnOperation() final {
    auto f = findFunction(getOperation(), "train_step");
    if (!f)
      return signalPassFailure();
    Step step(f);
    ir::StateOp state = step.findState(kScale);
    if (!state)
      return;
    Expr scaleNow = step.read(state);
    Expr finite = checkFinite(step);
    // The reciprocal is rounded once, from f64.
    step.multiplyGradients(1.0 / scaleNow.cast(step.builder.getF64Type()));
    if (options.scaler.scale == "dynamic" &&
        failed(moveScale(step, state, scaleNow, finite)))
      return signalPassFailure();
    addResult(f, scaleNow, kLossScale);
    // Skips all updates unless all gradients are finite.
    step.updateOnlyIf(finite);
    Expr overflow = !finite;
    addResult(f, overflow.cast(step.builder.getF32Type()), kFoundInf);
  }

  Expr checkFinite(Step &step) {
    SmallVector<Value> all;
    for (ir::GradientOp g : step.gradients())
      all.push_back(g.getValue());
    auto flag = RankedTensorType::get({}, step.builder.getI1Type());
    return step.expr(
        ir::AllFiniteOp::create(step.builder, step.f.getLoc(), flag, all));
  }

  /// Whether an overflow in this step would back off; updates the counter.
  FailureOr<Expr> useHysteresis(Step &step, Expr finite, Expr grows) {
    Type i32 = step.builder.getI32Type();
    ir::StateOp state = step.addScalar(kHysteresis, i32, ir::Role::scaler,
                                       options.scaler.hysteresis);
    if (!state)
      return failure();
    Expr left = step.read(state);
    Expr fewer = left - step.scalar(i32, 1);
    Expr fresh = step.scalar(i32, options.scaler.hysteresis);
    step.write(state, select(finite, select(grows, fresh, left), fewer));
    return left < step.scalar(i32, 2);
  }

  LogicalResult moveScale(Step &step, ir::StateOp state, Expr scaleNow,
                          Expr finite) {
    const ScalerOptions &o = options.scaler;
    Type i32 = step.builder.getI32Type();
    ir::StateOp growth = step.addScalar(kGrowth, i32, ir::Role::scaler, 0);
    if (!growth)
      return failure();
    Expr steps = step.read(growth) + step.scalar(i32, 1);
    Expr full = steps == step.scalar(i32, o.interval);
    Expr larger = scaleNow * o.growthFactor;
    if (o.maxScale > 0)
      larger = minimum(larger, o.maxScale);
    Expr grown =
        select(larger.make<ir::IsFiniteOp>(larger.v), larger, scaleNow);
    Expr smaller = scaleNow * o.backoffFactor;
    if (o.minScale > 0)
      smaller = maximum(smaller, o.minScale);
    if (o.hysteresis > 1) {
      FailureOr<Expr> used = useHysteresis(step, finite, full);
      if (failed(used))
        return failure();
      smaller = select(*used, smaller, scaleNow);
    }
    Expr kept = select(full, grown, scaleNow);
    step.write(state, select(finite, kept, smaller));
    Expr zero = step.scalar(i32, 0);
    Expr counted = select(full, zero, steps);
    step.write(growth, select(finite, counted, zero));
    return success();
  }
};

} // namespace

} // namespace dlc
