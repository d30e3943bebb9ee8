// SPDX-License-Identifier: Apache-2.0
// The passes of a training program, see Passes.td for what each adds and
// Pipeline.h for their order. Every pass takes a verified module and leaves
// one. Errors are diagnostics at the op or function that they concern.
#pragma once

#include "passes/StepPass.h"

namespace mlir {
class DialectRegistry;
}

namespace dlc {

#define GEN_PASS_DECL
#include "passes/Passes.h.inc"

/// Makes every pass known to textual pipelines (--dlc-autodiff ...), and
/// `dlc-train`, all of them in order.
void registerPasses();
/// Attaches the gradients (Gradients.h).
void registerGradients(mlir::DialectRegistry &registry);

} // namespace dlc
