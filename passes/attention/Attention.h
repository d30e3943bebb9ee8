// SPDX-License-Identifier: Apache-2.0
// Recognition of attention as one op, where a target can compute it as one.
#pragma once

#include "compiler/placement/Placer.h"
#include "passes/Options.h"

namespace dlc {

/// Whether any attention may become one op. If not, attention is computed as
/// products and softmax.
bool mayAttend(const StepOptions &options, const Target &target);

/// The ways in which the target can compute an attention under these options.
/// If `element` is null, only shapes are checked.
Ways waysOfAttention(const Target &target, const ir::AttentionDims &dims,
                     mlir::Type element, const StepOptions &options);

} // namespace dlc
