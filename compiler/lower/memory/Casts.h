// SPDX-License-Identifier: Apache-2.0
// Casts between wide tensors in flat regions and 16-bit tensors in scratch that
// run as one launch: of parameters, before all other commands, and of
// gradients.
#pragma once

#include "compiler/lower/memory/StateLayout.h"

namespace dlc {

/// A cluster that only casts a whole tensor, and where the wide one is.
struct JoinedCast {
  ir::FusedOp cast;
  mlir::Value halves; // their storage (16 bit)
  Place wide;
  /// Only casts of equal groups are joined.
  int64_t group = 0;
};

/// Consecutive wide tensors of one region, with the small gaps between them,
/// that one launch casts.
struct CastRange {
  Place wide; // of the first tensor
  mlir::Type wideType, halfType;
  /// Up to the end of the last tensor.
  int64_t elements = 0;
  llvm::SmallVector<JoinedCast> casts;
  bool toHalves = true;
  /// Indices of the first and last command that need the 16-bit tensors.
  int64_t begin = -1, end = -1;
  /// Byte offset of the 16-bit tensors.
  int64_t scratch = 0;

  int64_t bytes() const { return elements * elementBytes(halfType); }
  Place placeOfHalves(const JoinedCast &cast) const;
};

/// Largest gap in bytes between states that are cast together; the gap is cast,
/// too. Gradients must be adjacent: a gap may belong to other tensors, or hold
/// zeros that their norm relies on.
constexpr int64_t kGapOfStates = 1 << 16, kGapOfGradients = 0;

/// Ranges of at least two casts with at most `gap` bytes between consecutive
/// tensors. O(n log n).
llvm::SmallVector<CastRange> castRanges(llvm::SmallVector<JoinedCast> casts,
                                        int64_t gap);

/// The only op of the cluster `op` besides views, if that is a cast; else null.
ir::CastOp onlyCast(mlir::Operation *op);
/// Whether `op` is a cluster that only casts a whole state to 16 bits, or a
/// 16-bit tensor to the gradient of a state.
bool isCastOfState(mlir::Operation *op);
bool isCastOfGradient(mlir::Operation *op);
/// The state that such a cluster casts.
llvm::StringRef castState(ir::FusedOp cast);

} // namespace dlc
