// SPDX-License-Identifier: Apache-2.0
#include "passes/StepPass.h"
#include "mlir/Pass/PassRegistry.h"
#include "passes/Passes.h"

namespace dlc {

#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

template class OptionPass<StepOptions>;

void registerPasses() { registerDlcPasses(); }

} // namespace dlc
