// SPDX-License-Identifier: Apache-2.0
// The tiles of a matrix product on tensor cores, and their cost.
#pragma once

#include "compiler/target/Costs.h"
#include "llvm/ADT/ArrayRef.h"
#include <optional>

namespace dlc {

/// A block computes rows x columns of one product, in steps of `depth`, with
/// `down` x `across` warps that share the tile evenly.
struct Tiling {
  int64_t rows, columns, depth, down, across;

  int64_t threads() const { return down * across * 32; }
  int64_t warpRows() const { return rows / down; }
  int64_t warpColumns() const { return columns / across; }
  /// With reducesRows, a block computes all rows of a product.
  int64_t blocks(const ProductShape &shape) const;
  /// Number of tiles along depth; and of all tiles of a block.
  int64_t steps(const ProductShape &shape) const;
  int64_t stepsOfBlock(const ProductShape &shape) const;
  /// Whether no tile is partial where rows are reduced.
  bool fits(const ProductShape &shape) const;
};

/// All tilings, the largest first.
llvm::ArrayRef<Tiling> tilings();
/// The largest tiling with enough tiles for all multiprocessors; nullopt if
/// none fits.
std::optional<Tiling> tilingOf(const ProductShape &shape);

} // namespace dlc
