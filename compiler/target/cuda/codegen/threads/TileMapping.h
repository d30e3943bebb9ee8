// SPDX-License-Identifier: Apache-2.0
// The mapping of a matrix product's loops to tiles of tensor cores.
#pragma once

#include "compiler/kernel/KernelSchedule.h"
#include "compiler/target/cuda/codegen/Tiling.h"

namespace dlc::cuda {

/// One operand of the product: rows (or columns) by depth.
struct OperandMapping : exec::TileOperand {
  const KernelNode *node = nullptr; // its element
};

/// A kernel's product of 16-bit operands and its tiling.
struct TileMapping {
  const KernelNode *sum; // the product's element
  /// That of the product's first row in the same column; null if not read.
  const KernelNode *first = nullptr;
  /// Reductions of the elements over the rows of a product.
  llvm::SmallVector<const KernelNode *> overRows;
  ProductShape shape;
  llvm::SmallVector<LoopGroup, 4> batch; // never empty
  LoopGroup row, column, depth;

  Tiling tiling;
  OperandMapping left, right;
  /// Adjacent columns that a thread computes from their sums.
  int64_t vector = 1;

  /// Chooses tiling, operands' copies and `vector`.
  void decide(const KernelGraph &graph);
  /// The attribute in the IR, which does not include `vector`.
  exec::Tile tile() const;
  /// Reads the attribute. Returns what does not fit; null if it does.
  const char *take(const exec::Threads &threads, const KernelGraph &graph);

  int64_t sharedBytes() const;
  /// Elements between lines of an operand's tile, and elements of a tile.
  int64_t stride(const OperandMapping &o) const;
  int64_t elements(const OperandMapping &o) const;
  /// Elements between rows of the sums.
  int64_t sumStride() const { return tiling.columns + 8; }
};

/// Pipeline stages in shared memory: one tile is multiplied, one is copied.
constexpr int64_t kSlots = 2;

/// The product of 16-bit operands, not tiled yet; nullopt if there is none.
std::optional<TileMapping> productOf(const KernelGraph &graph);

} // namespace dlc::cuda
