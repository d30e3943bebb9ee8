// SPDX-License-Identifier: Apache-2.0
// Masks that depend on positions only, such as a causal mask: a constant with
// one value on and below the diagonal of its last two dimensions, and another
// above it.
#pragma once

#include "compiler/dialect/Dlc.h"

namespace dlc {

/// The attribute [seen, unseen] of a constant state that is a triangle. The
/// importer sets it, since only the importer knows the contents.
constexpr llvm::StringLiteral kTriangle = "dlc.triangle";

struct Triangle {
  double seen, unseen; // value where key <= query, where key > query
};

/// The value of a constant of any type whose elements are all equal.
std::optional<double> numberOf(mlir::Value v);

/// The triangle that `v` is, if it is a marked state or a comparison of
/// positions, or is computed from one by slices from the corner, casts,
/// comparisons and arithmetic with scalars.
std::optional<Triangle> triangleOf(mlir::Value v,
                                   const mlir::SymbolTable &symbols);

} // namespace dlc
