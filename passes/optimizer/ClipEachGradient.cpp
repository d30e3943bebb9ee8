// SPDX-License-Identifier: Apache-2.0
// Clipping of each parameter's gradient by its own norm.
#include "passes/Passes.h"
#include "passes/Step.h"
#include "passes/optimizer/ClipFactor.h"

using namespace mlir;
using dlc::ir::Expr;

namespace dlc {
#define GEN_PASS_DEF_CLIPEACHGRADIENT
#include "passes/Passes.h.inc"
namespace {

struct ClipEachGradient : impl::ClipEachGradientBase<ClipEachGradient> {
  ClipEachGradient() { reads<&StepOptions::clip>(); }

  void runOnOperation() final {
    const double most = options.clip.maxParameterNorm;
    if (most == 0)
      return;
    auto f = findFunction(getOperation(), "train_step");
    if (!f)
      return signalPassFailure();
    Step step(f);
    for (ir::GradientOp gradient : step.gradients())
      clip(step, gradient, most);
  }

  static void clip(Step &step, ir::GradientOp gradient, double most) {
    auto f32 = RankedTensorType::get({}, step.builder.getF32Type());
    Expr norm = step.expr(ir::GlobalNormOp::create(
        step.builder, gradient.getLoc(), f32, gradient.getValue()));
    step.multiplyGradients(clipFactor(norm, most), gradient);
  }
};

} // namespace

} // namespace dlc
