// SPDX-License-Identifier: Apache-2.0
// Attention as one op, where somebody may compute it so.
#pragma once

#include "compiler/placement/Placer.h"
#include "passes/Options.h"

namespace dlc {

/// Whether any attention may be one op. Else all of it is products and softmax.
bool mayAttend(const StepOptions &options, const Target &target);

/// The ways to compute an attention with such options; without `element`
/// shapes alone count.
Ways waysOfAttention(const Target &target, const ir::AttentionDims &dims,
                     mlir::Type element, const StepOptions &options);

} // namespace dlc
