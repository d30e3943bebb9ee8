// SPDX-License-Identifier: Apache-2.0
// What a value would be computed from if it were not read from memory.
#pragma once

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace dlc {

/// Elementwise ops that cost less than reading their result are repeated in
/// each cluster that needs them, if that reads no more. The leaves of a value
/// are the values in memory that such ops make it from; its own leaf is what a
/// library or another cluster makes, or reads.
class Leaves {
public:
  using Values = llvm::SmallPtrSet<mlir::Value, 8>;

  /// Time and memory are linear in the size of the block.
  explicit Leaves(mlir::Block &block);

  static bool isCheap(mlir::Operation *op);
  /// The leaves of all operands, also where op's own results are in memory.
  Values ofOperands(mlir::Operation *op) const;
  Values of(mlir::Value v) const;
  /// `clone`'s results are as `op`'s.
  void copy(mlir::Operation *op, mlir::Operation *clone);

  static int64_t bytes(mlir::Value v);

private:
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value, 2>> known;
};

} // namespace dlc
