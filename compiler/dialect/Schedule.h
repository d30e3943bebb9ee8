// SPDX-License-Identifier: Apache-2.0
// How a kernel runs, as an attribute of exec.kernel holds it.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace dlc::exec {

/// Adjacent loops that run as one, because every access sees them as
/// contiguous.
struct LoopGroup {
  llvm::SmallVector<unsigned, 4> loops; // by number, outermost first
  int64_t size;                         // iterations of all

  bool operator==(const LoopGroup &) const = default;
};
llvm::hash_code hash_value(const LoopGroup &group);

/// Iterations of all of them together.
int64_t iterationsOf(llvm::ArrayRef<LoopGroup> groups);

/// Which loops of a kernel are parallel items, which are inside of an item, and
/// what it costs. Loops are numbered as compiler/lower's KernelGraph finds them
/// in the body.
struct Schedule {
  enum Kind {
    Elementwise, // every output has one element per element of all loops
    Rows,        // an item is a row: its reductions, then what is computed
                 // from them
    Columns,     // an item is a block of adjacent kept elements, summed over
                 // all reduced loops
    Whole        // one op with loops that only a target knows
  };
  Kind kind = Whole;

  /// An item is a value of each of `outer`; `inner` are the loops inside of it.
  /// With `block` > 0, the group inner[0] (Elementwise) or outer.back()
  /// (Columns) is cut into blocks of that many, and the block's number is the
  /// innermost part of the item's number.
  llvm::SmallVector<LoopGroup, 4> outer, inner;
  int64_t block = 0;

  int64_t grain = 1; // fewest items worth a thread (about 20 us)
  int64_t flops = 0; // one per element and operation
  int64_t bytes = 0; // read and written, each argument once

  /// Parallel items; any split of [0, extent) gives the same bits.
  int64_t extent() const;
  /// Of all loops.
  int64_t elements() const { return iterationsOf(outer) * iterationsOf(inner); }
  int64_t blocks() const;
  /// The group that `block` cuts.
  const LoopGroup &blocked() const {
    return kind == Columns ? outer.back() : inner.front();
  }

  bool operator==(const Schedule &) const = default;
};
llvm::hash_code hash_value(const Schedule &schedule);

} // namespace dlc::exec
