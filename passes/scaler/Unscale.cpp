// SPDX-License-Identifier: Apache-2.0
// Undoes the loss scale after the all-reduce, so that every rank sees the same
// sum and the same overflow, and updates the scale: GradScaler's unscale_ and
// update as ops (torch/amp/grad_scaler.py). The host does not read the flag.
//   overflow: scale *= backoff, growth = 0
//   else:     growth += 1; at `interval`: scale *= factor unless that is
//   infinite, growth = 0
// With a hysteresis (Megatron's DynamicGradScaler) an overflow only backs off
// once the allowed number of overflows since the last growth is used up.
//   With one scaler per loss (apex's loss_id) unscale-losses has undone the
// scales; the flags here are those of all ranks and micro-batches. An overflow
// that cannot be attributed to a loss applies to all of them.
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
    if (auto losses = namedResults(f, "found_inf."); !losses.empty()) {
      if (failed(moveEach(step, losses)))
        signalPassFailure();
      return;
    }
    ir::StateOp state = step.findState(kScale);
    if (!state)
      return;
    Expr scaleNow = step.read(state);
    Expr finite = checkFinite(step);
    // The reciprocal is rounded once, from f64.
    step.multiplyGradients(1.0 / scaleNow.cast(step.builder.getF64Type()));
    if (options.scaler.scale == "dynamic" &&
        failed(moveScale(step, state, scaleNow, finite, {})))
      return signalPassFailure();
    addResult(f, scaleNow, kLossScale);
    finish(step, finite);
  }

  /// Skips all updates unless all gradients are finite.
  static void finish(Step &step, Expr finite) {
    step.updateOnlyIf(finite);
    addResult(step.f, flag(step, finite), kFoundInf);
  }
  static Expr flag(Step &step, Expr finite) {
    return finite.make<ir::NotOp>(finite.v).cast(step.builder.getF32Type());
  }

  LogicalResult moveEach(Step &step,
                         ArrayRef<std::pair<StringAttr, unsigned>> losses) {
    Operation *end = step.f.front().getTerminator();
    Expr sum = checkFinite(step);
    // Whether each loss is finite, whether all gradients are, and whether one
    // of the losses explains it if not.
    SmallVector<Expr> each;
    Expr all = sum, explained = sum;
    for (auto [name, index] : losses) {
      Expr found = step.expr(end->getOperand(index));
      Expr finite = compare(Predicate::eq, found, found.scalar(0));
      all = both(all, finite);
      explained = explained.make<ir::OrOp>(explained.v,
                                           finite.make<ir::NotOp>(finite.v).v);
      each.push_back(finite);
    }
    for (auto [loss, finite] : llvm::zip(losses, each)) {
      auto [name, index] = loss;
      finite = both(finite, explained);
      ir::StateOp state = step.findState(ofLoss(kScale, name));
      if (!state)
        return step.f.emitError()
               << "expected a loss scale of '" << name.getValue() << "'";
      Expr scaleNow = step.read(state);
      if (options.scaler.scale == "dynamic" &&
          failed(moveScale(step, state, scaleNow, finite, name)))
        return failure();
      end->setOperand(index, flag(step, finite));
      addResult(step.f, scaleNow, ofLoss(kLossScale, name));
    }
    finish(step, all);
    return success();
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
  FailureOr<Expr> useHysteresis(Step &step, Expr finite, Expr grows,
                                StringAttr loss) {
    Type i32 = step.builder.getI32Type();
    ir::StateOp state =
        step.addScalar(ofLoss(kHysteresis, loss), i32, ir::Role::scaler,
                       options.scaler.hysteresis);
    if (!state)
      return failure();
    Expr left = step.read(state);
    Expr fewer = left - step.scalar(i32, 1);
    Expr fresh = step.scalar(i32, options.scaler.hysteresis);
    step.write(state, select(finite, select(grows, fresh, left), fewer));
    return compare(Predicate::lt, left, step.scalar(i32, 2));
  }

  LogicalResult moveScale(Step &step, ir::StateOp state, Expr scaleNow,
                          Expr finite, StringAttr loss) {
    const ScalerOptions &o = options.scaler;
    Type i32 = step.builder.getI32Type();
    ir::StateOp growth =
        step.addScalar(ofLoss(kGrowth, loss), i32, ir::Role::scaler, 0);
    if (!growth)
      return failure();
    Expr steps = step.read(growth) + step.scalar(i32, 1);
    Expr full = compare(Predicate::eq, steps, step.scalar(i32, o.interval));
    Expr larger = scaleNow * o.growthFactor;
    if (o.maxScale > 0)
      larger = larger.make<ir::MinOp>(larger.v, larger.scalar(o.maxScale).v);
    Expr grown =
        select(larger.make<ir::IsFiniteOp>(larger.v), larger, scaleNow);
    Expr smaller = scaleNow * o.backoffFactor;
    if (o.minScale > 0)
      smaller =
          smaller.make<ir::MaxOp>(smaller.v, smaller.scalar(o.minScale).v);
    if (o.hysteresis > 1) {
      FailureOr<Expr> used = useHysteresis(step, finite, full, loss);
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
