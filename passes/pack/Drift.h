// SPDX-License-Identifier: Apache-2.0
// How a value that does not depend on inputs varies with the position in a row.
#pragma once

#include "compiler/dialect/Dlc.h"

namespace dlc::pack {

/// The increment of each element of `v` for a step along all of `axes`
/// together: 1 for index i along one axis, 0 for i - j and i < j along two.
/// Nullopt if it is not the same everywhere, or not known.
std::optional<double> driftOf(mlir::Value v, llvm::ArrayRef<int64_t> axes,
                              const mlir::SymbolTable &symbols);

} // namespace dlc::pack
