// SPDX-License-Identifier: Apache-2.0
// Attributes of ops that combine values of all ranks, and of functions.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace dlc::ir {

/// On batch_norm and its gradient, an integer: the statistics are those of all
/// ranks' batches, and are reduced in this bucket. Decomposition creates the
/// collective, so libraries do not support such a norm.
constexpr llvm::StringLiteral kNormBucket = "dlc.bucket";

/// On @start_step, an integer: the number of updates by this function;
/// @train_step does the later ones.
constexpr llvm::StringLiteral kUpdates = "dlc.updates";

} // namespace dlc::ir
