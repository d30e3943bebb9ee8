// SPDX-License-Identifier: Apache-2.0
// From a training program on tensors to commands on buffers: the passes of
// Passes.td, which says what each does. The order is in
// compiler/driver/Phases.cpp.
#pragma once

#include "compiler/options/OptionPass.h"
#include "compiler/placement/Wishes.h"

namespace mlir {
class DialectRegistry;
}

namespace dlc {

class Target;

/// What passes are told that ask a target; with(options, createPlace()).
struct LoweringOptions {
  std::shared_ptr<const Target> target; // never null when a pass runs
  Wishes placement;
};
extern template class OptionPass<LoweringOptions>;
using TargetPass = OptionPass<LoweringOptions>;

#define GEN_PASS_DECL
#include "compiler/lower/Passes.h.inc"

/// What reads `v`, if that is one operand of one op; else null.
inline mlir::Operation *onlyUser(mlir::Value v) {
  return v.hasOneUse() ? *v.user_begin() : nullptr;
}

/// Attaches DecomposableInterface to the ops that have it.
void registerDecompositions(mlir::DialectRegistry &registry);
/// Makes every pass known to textual pipelines. `target` is that of the passes
/// which ask one.
void registerLowerPasses(std::shared_ptr<const Target> target);

} // namespace dlc
