// SPDX-License-Identifier: Apache-2.0
// Reductions of a product's results over its rows, in a block that computes all
// row tiles of its columns. A thread has a vector of columns.
#pragma once

#include "compiler/target/cuda/codegen/threads/Body.h"

namespace dlc::cuda {

/// A thread's states: of each column the element in the first row, if that is
/// read; then column by column the states of all reductions.
class TileStates {
public:
  using States = Body::States;

  /// `body` is that of a product, and must outlive it.
  explicit TileStates(const Body &body);

  /// Before the first row.
  States none() const;
  /// Adds the element at the current loop indices, which is in column `lane`.
  void combine(States &states, int64_t lane) const;
  /// Combines the states of all threads with the same columns, in order, in the
  /// block's memory `shared`, and stores what is computed from them, one column
  /// per thread. `column`: the thread's first one in the tile; `batch`: indices
  /// of the product; `firstColumn`: the tile's.
  void join(llvm::ArrayRef<mlir::Value> states, mlir::Value column,
            mlir::Value shared, llvm::ArrayRef<mlir::Value> batch,
            mlir::Value firstColumn) const;

private:
  int64_t firsts() const { return m.first ? m.vector : 0; }
  mlir::ValueRange of(llvm::ArrayRef<mlir::Value> states, int64_t lane) const {
    return states.drop_front(firsts() + lane * all.size())
        .take_front(all.size());
  }
  /// Stores what is computed from the `states` of a column.
  void store(mlir::ValueRange states, mlir::Value first,
             llvm::ArrayRef<mlir::Value> batch, mlir::Value column) const;

  const Body &k;
  const TileMapping &m;
  llvm::SmallVector<Reduction> all;
};

} // namespace dlc::cuda
