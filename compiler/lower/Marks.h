// What lowering's passes say to each other by attributes.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace dlc {

/// What keeps an op apart from an equal one, of another owner, until fusion.
constexpr llvm::StringLiteral kApart = "dlc.apart";

/// Marks a library op that generated kernels contain here.
constexpr llvm::StringLiteral kGenerated = "dlc.generated";

/// The attribute that says who computes an op: it stays as it is.
constexpr llvm::StringLiteral kPlaced = "by";

} // namespace dlc
