// SPDX-License-Identifier: Apache-2.0
// Attributes of ops whose values are those of all ranks, and of functions.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace dlc::ir {

/// On batch_norm and its gradient, an integer: statistics are those of all
/// ranks' batches, and are reduced in this bucket. Decomposition creates the
/// collective; libraries do not have one.
constexpr llvm::StringLiteral kNormBucket = "dlc.bucket";

/// On @start_step, an integer: how many updates it does before @train_step does
/// the rest.
constexpr llvm::StringLiteral kUpdates = "dlc.updates";

} // namespace dlc::ir
