// SPDX-License-Identifier: Apache-2.0
// Slots in scratch for whole tensors while ranks exchange their parts, which
// are stored elsewhere.
#pragma once

#include "compiler/lower/memory/StateLayout.h"
#include <optional>

namespace dlc {

/// A reduce_scatter from the whole tensor to the rank's part in a flat region,
/// or an all_gather from there.
struct PartExchange {
  mlir::Operation *op;
  mlir::Value whole, kept;
  int64_t bucket;
};
/// Nullopt if `op` is neither: an all_gather without a bucket is in place.
std::optional<PartExchange> exchangeOf(mlir::Operation *op);

/// The collective with a bucket whose result `v` is a view of; null if none.
mlir::Operation *collectiveOf(mlir::Value v);
/// The bucket of a collective; nullopt if it does not communicate.
std::optional<int64_t> bucketOf(mlir::Operation *collective);

/// The whole tensors of one bucket, in the order of their parts.
struct Slot {
  Place kept; // of the first tensor
  mlir::Type element;
  llvm::SmallVector<PartExchange> members;
  /// Up to the end of the last tensor.
  int64_t bytes = 0;
  /// Indices of the first and last command that need it.
  int64_t begin = INT64_MAX, end = 0;
  /// Byte offset of the slot.
  int64_t scratch = 0;

  /// Padding before the first tensor, which preserves the alignment of tensors.
  int64_t head() const { return kept.offset % kAlignment; }
  int64_t room() const { return head() + bytes; }
};

/// A tensor that needs a slot, and where its part is stored.
struct SlotMember {
  PartExchange exchange;
  Place kept;
};
/// Consecutive members of one bucket share a slot. O(n log n).
llvm::SmallVector<Slot> slotsOf(llvm::SmallVector<SlotMember> members);

/// Whether a tensor of `element` that begins at `begin` follows one that ends
/// at `end`: it begins at the next offset allowed for states, or others.
bool followEachOther(int64_t end, int64_t begin, mlir::Type element);

} // namespace dlc
