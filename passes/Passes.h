// The passes of a training program, see Passes.td for what each adds and
// Pipeline.h for their order. Every pass takes a verified module and leaves
// one. Errors are diagnostics at the op or function that they concern.
#pragma once

#include "mlir/Pass/Pass.h"
#include "passes/Options.h"

namespace mlir {
class DialectRegistry;
}

namespace dlc {

#define GEN_PASS_DECL
#include "passes/Passes.h.inc"

/// The same passes from Options.h. Options are resolved
/// (StepOptions::resolve).
std::unique_ptr<mlir::Pass> createAppendLoss(const LossOptions &options);
std::unique_ptr<mlir::Pass> createTrainMode(const LossOptions &options);
std::unique_ptr<mlir::Pass> createRandomize(const RandomOptions &options);
std::unique_ptr<mlir::Pass> createInsertLora(const LoraOptions &options,
                                             int64_t seed);
std::unique_ptr<mlir::Pass>
createFuseAttention(const AttentionOptions &options);
/// `typed`: autocast has run.
std::unique_ptr<mlir::Pass>
createPlaceAttention(const AttentionOptions &options, bool typed);
std::unique_ptr<mlir::Pass> createAutocast(const AmpOptions &options);
std::unique_ptr<mlir::Pass> createScaleLoss(const ScalerOptions &options,
                                            const AccumulateOptions &window);
std::unique_ptr<mlir::Pass>
createAccumulateGradients(const AccumulateOptions &options);
std::unique_ptr<mlir::Pass> createUnscale(const ScalerOptions &options);
std::unique_ptr<mlir::Pass>
createInsertAllReduce(const AllReduceOptions &options);
std::unique_ptr<mlir::Pass> createClipGradients(const ClipOptions &options);
std::unique_ptr<mlir::Pass> createSkipOutliers(const OutlierOptions &options);
std::unique_ptr<mlir::Pass>
createInsertOptimizer(const OptimizerOptions &options,
                      const ScheduleOptions &schedule);
/// `batches`: of one update, over all ranks.
std::unique_ptr<mlir::Pass> createInsertEma(const EmaOptions &options,
                                            int64_t batches);

/// Makes every pass known to textual pipelines (--dlc-autodiff ...), and
/// `dlc-train`, all of them in order.
void registerPasses();
/// Attaches the gradients (Gradients.h).
void registerGradients(mlir::DialectRegistry &registry);

} // namespace dlc
