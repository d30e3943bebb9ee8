// SPDX-License-Identifier: Apache-2.0
// Attributes of ops whose values are those of all ranks.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace dlc::ir {

/// On batch_norm and its gradient, an integer: the batch is that of all ranks,
/// and what a rank knows of it travels as this bucket. Decomposing makes the
/// collective; no library has one.
constexpr llvm::StringLiteral kNormBucket = "dlc.bucket";

} // namespace dlc::ir
