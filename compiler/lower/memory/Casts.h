// SPDX-License-Identifier: Apache-2.0
// Casts between wide tensors in flat regions and halves in scratch that run as
// one launch: of parameters, before all other commands, and of gradients.
#pragma once

#include "compiler/lower/memory/StateLayout.h"

namespace dlc {

/// A cluster that only casts a whole tensor, and where the wide one lies.
struct JoinedCast {
  ir::FusedOp cast;
  mlir::Value halves; // their storage
  Place wide;
  /// Those of different groups are not joined.
  int64_t group = 0;
};

/// Wide tensors of one region that follow each other, with the little that lies
/// between them, all of which one launch casts.
struct CastRange {
  Place wide; // of the first
  mlir::Type wideType, halfType;
  /// Up to the end of the last one.
  int64_t elements = 0;
  llvm::SmallVector<JoinedCast> casts;
  bool toHalves = true;
  /// The commands that need the halves first and last.
  int64_t begin = -1, end = -1;
  /// Where the halves begin, in bytes.
  int64_t scratch = 0;

  int64_t bytes() const { return elements * elementBytes(halfType); }
  Place placeOfHalves(const JoinedCast &cast) const;
};

/// States between which so many bytes lie are cast along with what is there.
/// Gradients must touch: what lies between them belongs to others, or is zeros
/// that their norm counts on.
constexpr int64_t kGapOfStates = 1 << 16, kGapOfGradients = 0;

/// Ranges of at least two casts with at most `gap` bytes between two tensors.
/// O(n log n).
llvm::SmallVector<CastRange> castRanges(llvm::SmallVector<JoinedCast> casts,
                                        int64_t gap);

/// The only op of the cluster `op` but views, if that is a cast; else null.
ir::CastOp onlyCast(mlir::Operation *op);
/// Whether `op` is a cluster that does nothing but cast a whole state to
/// halves, or halves to the gradient of a state.
bool isCastOfState(mlir::Operation *op);
bool isCastOfGradient(mlir::Operation *op);
/// The state that such a cluster casts.
llvm::StringRef castState(ir::FusedOp cast);

} // namespace dlc
