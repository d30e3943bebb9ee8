// The factor that the backward graph, of each loss, starts with: 1, or the loss
// scale, a state; divided by the micro-batches of an update.
#include "passes/Passes.h"
#include "passes/Scaler.h"
#include "passes/Step.h"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_SCALELOSS
#include "passes/Passes.h.inc"
namespace {

struct ScaleLoss : impl::ScaleLossBase<ScaleLoss> {
  using ScaleLossBase::ScaleLossBase;

  void runOnOperation() final {
    auto f = findFunction(getOperation(), "train_step");
    if (!f)
      return signalPassFailure();
    auto first = parseLossScale(f, scale, init);
    if (failed(first))
      return signalPassFailure();
    Step step(f);
    for (auto seed : llvm::to_vector(f.getOps<ir::SeedOp>())) {
      ir::StateOp state;
      if (*first && !(state = step.addScalar(ofLoss(kScale, seed.getLossAttr()),
                                             step.builder.getF32Type(),
                                             ir::Role::scaler, **first)))
        return signalPassFailure();
      step.builder.setInsertionPoint(seed);
      Type element = ir::elementType(seed);
      ir::Expr start =
          state ? step.read(state).cast(element) : step.scalar(element, 1);
      if (microBatches != 1)
        start = start * (1.0 / double(microBatches));
      seed.replaceAllUsesWith(start.v);
      seed.erase();
    }
  }
};

} // namespace

FailureOr<std::optional<double>> parseLossScale(Operation *where,
                                                StringRef scale, double init) {
  if (scale == "none")
    return std::optional<double>();
  double value = init;
  if (scale != "dynamic" && scale.getAsDouble(value))
    return where->emitError()
           << "loss scale '" << scale
           << "' is not known, expected none, dynamic or a number";
  if (!(value > 0) || !std::isfinite(value))
    return where->emitError()
           << "expected a loss scale above 0, found " << value;
  return std::optional<double>(value);
}

std::unique_ptr<Pass> createScaleLoss(const ScalerOptions &o,
                                      const AccumulateOptions &window) {
  return createScaleLoss(ScaleLossOptions{
      o.scale, o.init, o.growthFactor, o.backoffFactor, o.interval, o.minScale,
      o.maxScale, o.hysteresis, window.count});
}

} // namespace dlc
