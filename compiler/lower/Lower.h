// SPDX-License-Identifier: Apache-2.0
// Lowering of a training program on tensors to commands on buffers. Passes.td
// describes the passes; their order is in compiler/driver/Phases.cpp.
#pragma once

#include "compiler/lower/memory/Recompute.h"
#include "compiler/options/OptionPass.h"
#include "compiler/placement/Wishes.h"

namespace mlir {
class DialectRegistry;
}

namespace dlc {

class Target;

/// Options of passes that query a target; with(options, createPlace()).
struct LoweringOptions {
  std::shared_ptr<const Target> target; // never null when a pass runs
  Wishes placement;
};
extern template class OptionPass<LoweringOptions>;
using TargetPass = OptionPass<LoweringOptions>;

#define GEN_PASS_DECL
#include "compiler/lower/Passes.h.inc"

/// The op that reads `v`, if `v` has a single use; else null.
inline mlir::Operation *onlyUser(mlir::Value v) {
  return v.hasOneUse() ? *v.user_begin() : nullptr;
}

/// Attaches DecomposableInterface to all ops that have a decomposition.
void registerDecompositions(mlir::DialectRegistry &registry);
/// Registers all passes for textual pipelines. They query `target`.
void registerLowerPasses(std::shared_ptr<const Target> target);

} // namespace dlc
