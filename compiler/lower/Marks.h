// What lowering's passes say to each other by attributes.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace dlc {

/// What keeps an op apart from an equal one, of another owner, until fusion.
constexpr llvm::StringLiteral kApart = "dlc.apart";

} // namespace dlc
