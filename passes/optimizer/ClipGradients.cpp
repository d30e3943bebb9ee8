// SPDX-License-Identifier: Apache-2.0
// Clipping as torch.nn.utils.clip_grad_value_ and clip_grad_norm_, without
// branches: the norm is always computed.
#include "passes/Passes.h"
#include "passes/Step.h"
#include "passes/optimizer/ClipFactor.h"

using namespace mlir;
using dlc::ir::Expr;

namespace dlc {
#define GEN_PASS_DEF_CLIPGRADIENTS
#include "passes/Passes.h.inc"
namespace {

struct ClipGradients : impl::ClipGradientsBase<ClipGradients> {
  ClipGradients() { reads<&StepOptions::clip>(); }

  void runOnOperation() final {
    const ClipOptions &o = options.clip;
    if (o.maxNorm == 0 && o.maxValue == 0 && !o.reportNorm)
      return;
    auto f = findFunction(getOperation(), "train_step");
    if (!f)
      return signalPassFailure();
    Step step(f);
    if (o.maxValue > 0)
      clamp(step, o.maxValue);
    if (o.maxNorm > 0 || o.reportNorm)
      clipByNorm(step, o.maxNorm);
  }

  void clamp(Step &step, double maxValue) {
    for (ir::GradientOp g : step.gradients()) {
      Expr value = step.expr(g.getValue());
      Type element = value.element();
      Value high = step.scalar(element, maxValue).v;
      Value low = step.scalar(element, -maxValue).v;
      Expr below = value.make<ir::MinOp>(value.v, high);
      g.getValueMutable().assign(below.make<ir::MaxOp>(below.v, low).v);
      g->moveBefore(step.f.front().getTerminator());
    }
  }

  /// The norm of `gradient`, if dlc-clip-each-gradient bounded it: the former
  /// norm times its factor, so that the gradient, which may be split over
  /// ranks, is not read again. Factor 0 means that the norm overflowed f32.
  static Value boundedNorm(Step &step, Value gradient) {
    auto bounded = gradient.getDefiningOp<ir::MulOp>();
    if (!bounded || ir::tensorType(bounded.getB()).getRank() != 0)
      return nullptr;
    for (Operation *user : bounded.getA().getUsers())
      if (auto norm = dyn_cast<ir::GlobalNormOp>(user);
          norm && norm.getXs().size() == 1 && !norm.getLimit()) {
        Expr whole = step.expr(norm.getY());
        Expr factor = step.expr(bounded.getB()).cast(whole.element());
        return select(factor <= 0, 0, whole * factor).v;
      }
    return nullptr;
  }

  void clipByNorm(Step &step, double maxNorm) {
    SmallVector<Value> all;
    for (ir::GradientOp g : step.gradients()) {
      Value own = boundedNorm(step, g.getValue());
      all.push_back(own ? own : g.getValue());
    }
    if (all.empty())
      return;
    auto f32 = RankedTensorType::get({}, step.builder.getF32Type());
    Expr norm = step.expr(
        ir::GlobalNormOp::create(step.builder, step.f.getLoc(), f32, all));
    if (maxNorm > 0)
      step.multiplyGradients(clipFactor(norm, maxNorm));
    addResult(step.f, norm, "grad_norm");
  }
};

} // namespace

} // namespace dlc
