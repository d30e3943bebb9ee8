// Clipping by the global norm, as torch.nn.utils.clip_grad_norm_: the
// coefficient multiplies always, so nothing branches.
#include "passes/Passes.h"
#include "passes/Step.h"

using namespace mlir;
using dlc::ir::Expr;

namespace dlc {
#define GEN_PASS_DEF_CLIPGRADIENTS
#include "passes/Passes.h.inc"
namespace {

struct ClipGradients : impl::ClipGradientsBase<ClipGradients> {
  using ClipGradientsBase::ClipGradientsBase;

  void runOnOperation() final {
    if (maxNorm == 0)
      return;
    auto f = findFunction(getOperation(), "train_step");
    if (!f)
      return signalPassFailure();
    if (!(maxNorm > 0)) {
      f.emitError() << "expected a largest gradient norm above 0, found "
                    << double(maxNorm);
      return signalPassFailure();
    }
    clip(f);
  }

  void clip(func::FuncOp f) {
    Step step(f);
    SmallVector<Value> all;
    for (ir::GradientOp g : step.gradients())
      all.push_back(g.getValue());
    auto f32 = RankedTensorType::get({}, step.builder.getF32Type());
    Expr norm =
        step.expr(ir::GlobalNormOp::create(step.builder, f.getLoc(), f32, all));
    Expr ratio = norm.scalar(maxNorm) / (norm + 1e-6);
    Expr coefficient = ratio.make<ir::MinOp>(ratio.v, ratio.scalar(1).v);
    step.multiplyGradients(coefficient);
    addResult(f, norm, "grad_norm");
  }
};

} // namespace

std::unique_ptr<Pass> createClipGradients(const ClipOptions &o) {
  return createClipGradients(ClipGradientsOptions{o.maxNorm});
}

} // namespace dlc
