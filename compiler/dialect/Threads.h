// SPDX-License-Identifier: Apache-2.0
// The mapping of a kernel to threads, stored as an attribute of exec.kernel.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>

namespace dlc::exec {

/// How an operand of a product is copied to a tile in shared memory.
struct TileOperand {
  /// Which of its two dimensions is contiguous in memory, and how many
  /// contiguous elements a thread copies at once.
  bool depthIsFast = true;
  int64_t vector = 1;
  /// Whether memory holds the operand in its final form, so that it is copied
  /// without passing through registers.
  bool isCopied = false;

  bool operator==(const TileOperand &) const = default;
};

/// The tile of a block in shared memory. Sizes of a product: rows, columns and
/// depth; of attention: the rows that stay and the rows that are streamed.
struct Tile {
  llvm::SmallVector<int64_t, 3> sizes;
  int64_t down = 1, across = 1; // warps along rows and columns of the tile
  int64_t slots = 2;            // buffers of the streamed operand (stages)
  std::optional<TileOperand> left, right; // of a product

  bool operator==(const Tile &) const = default;
};

/// A launch on a device with grids of threads, and the work of each thread. The
/// schedule defines the loops; compiler/target/cuda/codegen defines what the
/// numbers mean for each kind of schedule.
struct Threads {
  int64_t grid = 0;  // filter gradient: one item per tap
  int64_t block = 1; // image distance of adjacent copies
  /// Contiguous elements per thread and access; threads that share a row or
  /// adjacent elements of a sum; vectors of a row per thread.
  int64_t vector = 1, across = 1, chunks = 1;
  int64_t indexBits = 32;   // 64 if 32 bits would overflow
  bool inRegisters = false; // all chunks of a row stay in registers
  bool sparse = false;      // warps skip elements that contribute nothing
  /// Index of a loop in the schedule's groups that is transposed through square
  /// tiles in shared memory.
  std::optional<int64_t> transposed;
  std::optional<Tile> tile;

  bool operator==(const Threads &) const = default;
};
llvm::hash_code hash_value(const Threads &threads);

} // namespace dlc::exec
