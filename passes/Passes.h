// SPDX-License-Identifier: Apache-2.0
// The passes that build a training program. Passes.td says what each adds, and
// compiler/driver/Phases.cpp in which order they run. Every pass takes and
// leaves a verified module. Errors are diagnostics at the op or function that
// they are about.
#pragma once

#include "passes/StepPass.h"

namespace mlir {
class DialectRegistry;
}

namespace dlc {

#define GEN_PASS_DECL
#include "passes/Passes.h.inc"

/// Makes every pass known to textual pipelines (--dlc-autodiff ...).
void registerPasses();
/// Attaches the differentiation rules (Gradients.h).
void registerGradients(mlir::DialectRegistry &registry);

/// Whether the model has everything that the options name: nodes of --amp-node,
/// parameters of groups, factors and --loss-params, weights of --lora-targets;
/// else an error at the module that suggests similar names. The options need
/// not be resolved.
llvm::LogicalResult checkStep(mlir::ModuleOp imported,
                              const StepOptions &options);
/// Removes the lines of --explain-amp, which dlc-autocast stored in the module,
/// and returns them.
std::vector<std::string> takeCastReport(mlir::ModuleOp module);

} // namespace dlc
