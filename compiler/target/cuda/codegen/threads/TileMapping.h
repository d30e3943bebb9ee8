// How the loops of a matrix product lie on the tiles of tensor cores.
#pragma once

#include "compiler/kernel/KernelSchedule.h"
#include "compiler/target/cuda/codegen/Tiling.h"

namespace dlc::cuda {

/// One operand of the product: rows (or columns) by depth.
struct OperandMapping {
  const KernelNode *node; // its element
  /// Which of its two dimensions is contiguous in memory, and so in shared
  /// memory, and how many elements of it a thread takes at once.
  bool depthIsFast;
  int64_t vector;
  /// Memory has what is multiplied: copied without a thread's registers.
  bool isCopied;
};

struct TileMapping {
  const KernelNode *sum; // the product's element
  Tiling tiling;
  ProductShape shape;
  llvm::SmallVector<LoopGroup, 4> batch; // never empty
  LoopGroup row, column, depth;
  OperandMapping left, right;
  /// Adjacent columns that a thread computes at once from their sums.
  int64_t vector;

  int64_t sharedBytes() const;
  /// Elements from one line of an operand's tile to the next, and of one tile.
  int64_t stride(const OperandMapping &o) const;
  int64_t elements(const OperandMapping &o) const;
  /// Sums from one row of them to the next.
  int64_t sumStride() const { return tiling.columns + 8; }
};

/// Operand tiles in shared memory: one that is multiplied, one that arrives.
constexpr int64_t kSlots = 2;

/// Nothing if the kernel has no product of halves.
std::optional<TileMapping> mapTiles(const KernelGraph &graph);

} // namespace dlc::cuda
