// SPDX-License-Identifier: Apache-2.0
// The values in memory from which a value would be recomputed.
#pragma once

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace dlc {

/// Elementwise ops that cost less than reading their result are repeated in
/// each cluster that uses them, if that does not read more data. The leaves of
/// a value are the values in memory that such ops compute it from; a value from
/// a library call, another cluster or an input is its own leaf.
class Leaves {
public:
  using Values = llvm::SmallPtrSet<mlir::Value, 8>;

  /// Time and memory are linear in the size of the block.
  explicit Leaves(mlir::Block &block);

  static bool isCheap(mlir::Operation *op);
  /// The leaves of all operands of op, even if the results of op are in memory.
  Values ofOperands(mlir::Operation *op) const;
  Values of(mlir::Value v) const;
  /// Gives the results of `clone` the leaves of the results of `op`.
  void copy(mlir::Operation *op, mlir::Operation *clone);

  static int64_t bytes(mlir::Value v);

private:
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value, 2>> known;
};

} // namespace dlc
