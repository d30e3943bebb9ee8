// SPDX-License-Identifier: Apache-2.0
// Whole tensors of which ranks keep parts elsewhere, in scratch memory for as
// long as they exchange them.
#pragma once

#include "compiler/lower/memory/StateLayout.h"
#include <optional>

namespace dlc {

/// A reduce_scatter, from the whole to what a rank keeps in a flat region, or
/// an all_gather from there.
struct PartExchange {
  mlir::Operation *op;
  mlir::Value whole, kept;
  int64_t bucket;
};
/// None if `op` is neither: an all_gather without a bucket is in place.
std::optional<PartExchange> exchangeOf(mlir::Operation *op);

/// Whole tensors of one bucket, side by side as what ranks keep of them.
struct Slot {
  Place kept; // of the first
  mlir::Type element;
  llvm::SmallVector<PartExchange> members;
  /// Up to the end of the last one.
  int64_t bytes = 0;
  /// The commands that need it first and last.
  int64_t begin = INT64_MAX, end = 0;
  /// Where it begins, in bytes.
  int64_t scratch = 0;

  /// Tensors keep their alignment: what lies before the first.
  int64_t head() const { return kept.offset % kAlignment; }
  int64_t room() const { return head() + bytes; }
};

/// A member of a slot to be, and where what is kept of it lies.
struct SlotMember {
  PartExchange exchange;
  Place kept;
};
/// Those of one bucket that follow each other share a slot. O(n log n).
llvm::SmallVector<Slot> slotsOf(llvm::SmallVector<SlotMember> members);

/// Whether tensors of `element` that end and begin there follow each other:
/// they begin where states do, or where other tensors do.
bool followEachOther(int64_t end, int64_t begin, mlir::Type element);

} // namespace dlc
