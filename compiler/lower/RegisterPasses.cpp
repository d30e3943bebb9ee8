// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/Lower.h"
#include "mlir/Pass/PassRegistry.h"

namespace dlc {

#define GEN_PASS_REGISTRATION
#include "compiler/lower/Passes.h.inc"

template class OptionPass<LoweringOptions>;

void registerLowerPasses(std::shared_ptr<const Target> target) {
  // The first registration of a name is used.
  using Create = std::unique_ptr<mlir::Pass> (*)();
  for (Create create : std::initializer_list<Create>{
           createMatmulEpilogues, createPlace, createFuseMatmul,
           createRecompute, createJoinStages, createJoinSmall,
           createMapThreads})
    mlir::registerPass([=] {
      std::unique_ptr<mlir::Pass> pass = create();
      static_cast<TargetPass &>(*pass).startFrom({target, {}});
      return pass;
    });
  registerLoweringPasses();
}

} // namespace dlc
