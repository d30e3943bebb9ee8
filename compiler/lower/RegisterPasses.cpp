#include "compiler/lower/Lower.h"
#include "compiler/lower/decompose/Decompositions.h"
#include "compiler/lower/fuse/FuseMatmul.h"
#include "compiler/lower/fuse/GenerateAttention.h"
#include "compiler/lower/memory/Recompute.h"
#include "compiler/lower/place/MatmulEpilogues.h"
#include "compiler/lower/place/NormCalls.h"
#include "compiler/lower/place/Place.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

namespace dlc {

void registerLowerPasses(std::shared_ptr<const Target> target) {
  mlir::registerPass(createInferLimits);
  mlir::registerPass(createLayout);
  mlir::registerPass([=] { return createMatmulEpilogues(target); });
  mlir::registerPass([=] { return createPlace(target); });
  mlir::registerPass(createNormCalls);
  mlir::registerPass(createDecompose);
  mlir::registerPass([] { return createSplitReductions(); });
  mlir::registerPass([] { return createFuse(); });
  mlir::registerPass([=] { return createFuseMatmul(target); });
  mlir::registerPass(createGenerateAttention);
  mlir::registerPass([] { return createRecompute(); });
  mlir::registerPass(createPlanMemory);
  mlir::registerPass(createMergeLaunches);
  mlir::registerPass(createScheduleKernels);
}

} // namespace dlc
