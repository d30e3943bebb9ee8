// SPDX-License-Identifier: Apache-2.0
// Attributes of ops that compute over the data of all ranks.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace dlc::ir {

/// On batch_norm and its gradient, an integer: statistics are those of all
/// ranks' batches, and are reduced in this bucket. Decomposition creates the
/// collective; libraries do not have one.
constexpr llvm::StringLiteral kNormBucket = "dlc.bucket";

} // namespace dlc::ir
