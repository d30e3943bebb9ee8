// SPDX-License-Identifier: Apache-2.0
// LLVM's optimizer.
#pragma once

#include "llvm/Passes/PassBuilder.h"

namespace dlc {

/// Runs LLVM's default pipeline at `level` on `module` in place, for `machine`.
void runPipeline(llvm::Module &module, llvm::TargetMachine &machine,
                 llvm::OptimizationLevel level,
                 const llvm::PipelineTuningOptions &tuning = {});

} // namespace dlc
