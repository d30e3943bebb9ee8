// SPDX-License-Identifier: Apache-2.0
// How a kernel lies on threads, as an attribute of exec.kernel holds it.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>

namespace dlc::exec {

/// One operand of a product on its way to a tile in shared memory.
struct TileOperand {
  /// Which of its two dimensions is contiguous there, and how many elements of
  /// it a thread takes at once.
  bool depthIsFast = true;
  int64_t vector = 1;
  /// Memory has what is multiplied: copied without a thread's registers.
  bool isCopied = false;

  bool operator==(const TileOperand &) const = default;
};

/// What a block computes at a time by way of shared memory. Of a product: rows,
/// columns and depth; of attention: the rows that stay and those that come by.
struct Tile {
  llvm::SmallVector<int64_t, 3> sizes;
  int64_t down = 1, across = 1; // warps that share it evenly
  int64_t slots = 2;            // of what comes by: used, and on its way
  std::optional<TileOperand> left, right; // of a product

  bool operator==(const Tile &) const = default;
};

/// A launch on a device that runs grids of threads, and each thread's part. The
/// schedule says which loops there are; compiler/target/cuda/codegen what the
/// numbers mean for each kind of it.
struct Threads {
  int64_t grid = 0;  // blocks; 0: nothing to do
  int64_t block = 1; // threads of each
  /// Adjacent elements that a thread takes at once; threads side by side in a
  /// row or a sum's neighbours; a thread's vectors of a row.
  int64_t vector = 1, across = 1, chunks = 1;
  int64_t indexBits = 32;   // 64 where 32 would not do
  bool inRegisters = false; // all chunks stay there
  bool sparse = false;      // warps look for the elements that count
  /// A number in the schedule's groups: that loop's squares cross shared
  /// memory.
  std::optional<int64_t> transposed;
  std::optional<Tile> tile;

  bool operator==(const Threads &) const = default;
};
llvm::hash_code hash_value(const Threads &threads);

} // namespace dlc::exec
