// SPDX-License-Identifier: Apache-2.0
// Masks that follow from positions: what a constant holds on and below the
// diagonal of its last two dimensions, and above it.
#pragma once

#include "compiler/dialect/Dlc.h"

namespace dlc {

/// The attribute of a constant state that is a triangle, [seen, unseen]: set by
/// the importer, who alone sees contents.
constexpr llvm::StringLiteral kTriangle = "dlc.triangle";

struct Triangle {
  double seen, unseen; // where key <= query, where key > query
};

/// The number that every element of the constant `v` is, of any type.
std::optional<double> numberOf(mlir::Value v);

/// The triangle that `v` is: a marked state, positions compared, or what slices
/// from the corner, casts, comparisons and arithmetic with numbers make of one.
std::optional<Triangle> triangleOf(mlir::Value v,
                                   const mlir::SymbolTable &symbols);

} // namespace dlc
