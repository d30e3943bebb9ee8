// SPDX-License-Identifier: Apache-2.0
// Reports statistics of gradients before clipping.
#include "passes/Passes.h"
#include "passes/optimizer/Measure.h"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_MEASUREGRADIENTS
#include "passes/Passes.h.inc"
namespace {

struct MeasureGradients : impl::MeasureGradientsBase<MeasureGradients> {
  MeasureGradients() { reads<&StepOptions::statistics>(); }

  void runOnOperation() final {
    if (!options.statistics.enabled)
      return;
    auto f = findFunction(getOperation(), "train_step");
    if (!f)
      return signalPassFailure();
    Step step(f);
    llvm::StringMap<ir::GradientOp> gradients;
    for (ir::GradientOp g : step.gradients())
      gradients[g.getState()] = g;
    SmallVector<Value> numbers;
    for (ir::StateOp state : measuredStates(getOperation())) {
      ir::GradientOp g = gradients.lookup(state.getSymName());
      if (!g) {
        state.emitError() << "it has no gradient to be measured";
        return signalPassFailure();
      }
      measure(ir::Expr(step.builder, g.getLoc(), g.getValue()), numbers);
    }
    reportNumbers(step, numbers, "stats.gradients");
  }
};

} // namespace
} // namespace dlc
