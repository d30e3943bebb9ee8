// SPDX-License-Identifier: Apache-2.0
// The schedule of a kernel, stored as an attribute of exec.kernel.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace dlc::exec {

/// Adjacent loops that run as one loop, as they are contiguous in every access.
struct LoopGroup {
  llvm::SmallVector<unsigned, 4> loops; // loop numbers, outermost first
  int64_t size;                         // product of the loops' sizes

  bool operator==(const LoopGroup &) const = default;
};
llvm::hash_code hash_value(const LoopGroup &group);

/// Product of the sizes of the groups.
int64_t iterationsOf(llvm::ArrayRef<LoopGroup> groups);

/// Which loops of a kernel run over parallel items and which inside of an item,
/// and the kernel's cost. Loops are numbered in the order in which KernelGraph
/// of compiler/kernel finds them in the body.
struct Schedule {
  enum Kind {
    Elementwise, // every output has one element per element of all loops
    Rows,        // an item is a row: its reductions, then the ops that use
                 // them
    Columns,     // an item is a block of adjacent kept elements, summed over
                 // all reduced loops
    Whole        // one op whose loops only the target knows
  };
  Kind kind = Whole;

  /// An item is one value of each of `outer`; `inner` are the loops inside of
  /// an item. If `block` > 0, the group inner[0] (Elementwise) or outer.back()
  /// (Columns) is split into blocks of that many iterations, and the block's
  /// index is the innermost digit of the item's index.
  llvm::SmallVector<LoopGroup, 4> outer, inner;
  int64_t block = 0;

  int64_t grain = 1; // fewest items worth a thread (about 20 us)
  int64_t flops = 0; // one per element and operation
  int64_t bytes = 0; // read and written, each argument once

  /// Number of parallel items; results do not depend, bitwise, on how [0,
  /// extent) is split.
  int64_t extent() const;
  /// Iterations of all loops.
  int64_t elements() const { return iterationsOf(outer) * iterationsOf(inner); }
  int64_t blocks() const;
  /// The group that is split by `block`.
  const LoopGroup &blocked() const {
    return kind == Columns ? outer.back() : inner.front();
  }

  bool operator==(const Schedule &) const = default;
};
llvm::hash_code hash_value(const Schedule &schedule);

} // namespace dlc::exec
