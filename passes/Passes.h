// SPDX-License-Identifier: Apache-2.0
// The passes of a training program, see Passes.td for what each adds and
// compiler/driver/Phases.cpp for their order. Every pass takes a verified
// module and leaves one. Errors are diagnostics at the op or function that they
// concern.
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
/// Attaches the gradients (Gradients.h).
void registerGradients(mlir::DialectRegistry &registry);

/// Whether the model has what the options name: nodes of --amp-node, parameters
/// of groups, factors and --loss-params, weights of --lora-targets; else an
/// error at the module, with names that are near. Options need not be resolved.
llvm::LogicalResult checkStep(mlir::ModuleOp imported,
                              const StepOptions &options);
/// The lines of --explain-amp, which dlc-autocast left in the module; they are
/// gone from there then.
std::vector<std::string> takeCastReport(mlir::ModuleOp module);

} // namespace dlc
