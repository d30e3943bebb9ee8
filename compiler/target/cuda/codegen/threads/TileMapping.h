// SPDX-License-Identifier: Apache-2.0
// How the loops of a matrix product lie on the tiles of tensor cores.
#pragma once

#include "compiler/kernel/KernelSchedule.h"
#include "compiler/target/cuda/codegen/Tiling.h"

namespace dlc::cuda {

/// One operand of the product: rows (or columns) by depth.
struct OperandMapping : exec::TileOperand {
  const KernelNode *node = nullptr; // its element
};

/// What the body says of its product of halves, and how it is cut.
struct TileMapping {
  const KernelNode *sum; // the product's element
  ProductShape shape;
  llvm::SmallVector<LoopGroup, 4> batch; // never empty
  LoopGroup row, column, depth;

  Tiling tiling;
  OperandMapping left, right;
  /// Adjacent columns that a thread computes at once from their sums.
  int64_t vector = 1;

  /// Decides the latter.
  void decide(const KernelGraph &graph);
  /// As it stands in the IR, but for `vector`.
  exec::Tile tile() const;
  /// Takes over what stands there. What does not fit; null: all fits.
  const char *take(const exec::Threads &threads, const KernelGraph &graph);

  int64_t sharedBytes() const;
  /// Elements from one line of an operand's tile to the next, and of one tile.
  int64_t stride(const OperandMapping &o) const;
  int64_t elements(const OperandMapping &o) const;
  /// Sums from one row of them to the next.
  int64_t sumStride() const { return tiling.columns + 8; }
};

/// Operand tiles in shared memory: one that is multiplied, one that arrives.
constexpr int64_t kSlots = 2;

/// The product of halves, not cut yet; nothing if the kernel has none.
std::optional<TileMapping> productOf(const KernelGraph &graph);

} // namespace dlc::cuda
