// SPDX-License-Identifier: Apache-2.0
// How a value that no input changes depends on where in a row it is.
#pragma once

#include "compiler/dialect/Dlc.h"

namespace dlc::pack {

/// How much each element of `v` grows per step along all of `axes` together:
/// index i along one gives 1, i - j and i < j along two give 0. None where that
/// is not the same everywhere, or not known.
std::optional<double> driftOf(mlir::Value v, llvm::ArrayRef<int64_t> axes,
                              const mlir::SymbolTable &symbols);

} // namespace dlc::pack
