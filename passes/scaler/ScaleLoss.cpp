// SPDX-License-Identifier: Apache-2.0
// The initial gradient of each loss's backward graph: 1, or the loss scale, a
// state; divided by the number of micro-batches.
#include "passes/Passes.h"
#include "passes/Step.h"
#include "passes/scaler/Scaler.h"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_SCALELOSS
#include "passes/Passes.h.inc"
namespace {

/// Nullopt for "none"; the options must be valid.
std::optional<double> firstScale(const ScalerOptions &o) {
  if (o.scale == "none")
    return std::nullopt;
  double fixed = o.init;
  if (o.scale != "dynamic")
    StringRef(o.scale).getAsDouble(fixed);
  return fixed;
}

struct ScaleLoss : impl::ScaleLossBase<ScaleLoss> {
  ScaleLoss() { reads<&StepOptions::scaler, &StepOptions::accumulate>(); }

  void runOnOperation() final {
    auto f = findFunction(getOperation(), "train_step");
    if (!f)
      return signalPassFailure();
    auto first = firstScale(options.scaler);
    Step step(f);
    for (auto seed : llvm::to_vector(f.getOps<ir::SeedOp>())) {
      ir::StateOp state;
      if (first && !(state = step.addScalar(kScale, step.builder.getF32Type(),
                                            ir::Role::scaler, *first)))
        return signalPassFailure();
      step.builder.setInsertionPoint(seed);
      Type element = ir::elementType(seed);
      ir::Expr start =
          state ? step.read(state).cast(element) : step.scalar(element, 1);
      if (options.accumulate.count != 1)
        start = start * (1.0 / double(options.accumulate.count));
      seed.replaceAllUsesWith(start.v);
      seed.erase();
    }
  }
};

} // namespace

} // namespace dlc
