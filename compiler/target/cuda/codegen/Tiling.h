// SPDX-License-Identifier: Apache-2.0
// How a matrix product is cut into tiles for tensor cores, and what that costs.
#pragma once

#include "compiler/target/Costs.h"
#include "llvm/ADT/ArrayRef.h"

namespace dlc {

/// A block computes rows x columns of one product, `depth` at a time, with
/// `down` x `across` warps that share them evenly.
struct Tiling {
  int64_t rows, columns, depth, down, across;

  int64_t threads() const { return down * across * 32; }
  int64_t warpRows() const { return rows / down; }
  int64_t warpColumns() const { return columns / across; }
  int64_t blocks(const ProductShape &shape) const;
  /// Tiles that follow each other in depth.
  int64_t steps(const ProductShape &shape) const;
};

/// All that there are, the largest first.
llvm::ArrayRef<Tiling> tilings();
/// The largest tiles of which there are enough for all multiprocessors.
Tiling tilingOf(const ProductShape &shape);

} // namespace dlc
