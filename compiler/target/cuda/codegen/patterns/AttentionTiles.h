// SPDX-License-Identifier: Apache-2.0
// What the kernels of attention share: 64 rows (queries, or keys) stay in
// shared memory, 16 a warp, while the others come by, a few at a time.
#pragma once

#include "compiler/dialect/Exec.h"
#include "compiler/target/cuda/codegen/threads/TensorCore.h"

namespace dlc::cuda {

/// Sizes of attention, and of its tiles in shared memory.
struct AttentionTiling {
  static constexpr int64_t kRows = 64, kThreads = 128, kPadding = 8;

  /// Of attention or its gradient.
  AttentionTiling(mlir::Operation *op, int64_t rows, int64_t slots);
  /// As much as shared memory holds.
  static AttentionTiling deciding(mlir::Operation *op);
  /// What stands in the IR; nothing if it is none of an attention.
  static std::optional<AttentionTiling> of(mlir::Operation *op,
                                           const exec::Tile &tile);

  ir::AttentionDims dims;
  bool headsFirst;
  double scale;
  int64_t rows, slots; // that come by at once; tiles of them in shared memory
  int64_t residentElements, slotElements; // of one array at most, in halves

  /// Arrays that stay, and that come by.
  int64_t resident, streamed;

  bool fits() const;
  exec::Tile tile() const;
  static int64_t padded(int64_t width) { return (width + 15) / 16 * 16; }
  int64_t blocks(bool overKeys) const;
};

class AttentionTiles {
public:
  using Values = llvm::SmallVector<mlir::Value>;

  /// Rows of one head of an array [B, H, T, width] or [B, T, H, width].
  struct Rows {
    mlir::Value pointer, base;
    int64_t stride, length, width;
  };

  AttentionTiles(ScalarEmitter &e, Threads &t, mlir::Operation *op,
                 const AttentionTiling &tiling);

  Rows queries(mlir::Value pointer, int64_t width) const;
  Rows keys(mlir::Value pointer, int64_t width) const;
  /// Of the block's part of the queries or keys.
  void place(bool overKeys);

  //===--- movement -------------------------------------------------------===//

  /// Starts the copy of the block's rows to resident array `array`.
  void keep(const Rows &rows, int64_t array);
  /// For tiles [first, end) of rows, in order: `arrays` are in the matrices
  /// that `matrix` gives when `body` runs; `before` runs when the tile's own
  /// slot of statistics may be written.
  Values stream(mlir::Value first, mlir::Value end, llvm::ArrayRef<Rows> arrays,
                Values carried, llvm::function_ref<void(mlir::Value)> before,
                llvm::function_ref<Values(mlir::Value, mlir::ValueRange)> body);
  SharedMatrix resident(int64_t array, int64_t width) const;
  /// As a factor over its width, or over its rows.
  SharedMatrix streamed(int64_t array, int64_t width, mlir::Value tile,
                        bool overRows) const;
  /// Rounds sums of the block's rows to `rows`, by way of resident memory.
  void store(mlir::ValueRange sums, const Rows &rows);

  //===--- products -------------------------------------------------------===//

  /// Sums of [16 rows of the warp, tile], four for each 8 columns.
  Values products(const SharedMatrix &kept, const SharedMatrix &tile,
                  int64_t width);
  /// sums + factors @ tile, where factors are as `products` gives them.
  Values accumulate(mlir::ValueRange sums, mlir::ValueRange factors,
                    const SharedMatrix &tile, int64_t width);
  Values zeros(int64_t width) const;
  /// The scaled and masked score of a product; -inf where the query does not
  /// see the key.
  mlir::Value score(mlir::Value product, mlir::Value query, mlir::Value key);

  //===--- the thread's elements ------------------------------------------===//

  /// Row of the block of element i of four, and column of the tile of element
  /// i of the sums of a tile.
  mlir::Value row(int64_t i) const;
  mlir::Value column(int64_t i) const;
  mlir::Value minus(mlir::Value a, mlir::Value b);
  mlir::Value times(mlir::Value a, mlir::Value b);
  mlir::Value plus(mlir::Value a, mlir::Value b);
  mlir::Value exp(mlir::Value x);
  mlir::Value f32(double value) const;
  mlir::Value isLess(mlir::Value a, mlir::Value b);

  ScalarEmitter &e;
  Threads &t;
  AttentionTiling tiling;
  mlir::Value first; // row of the block
  mlir::Value head;  // of all batches
  mlir::Value mask;  // an argument, or null

private:
  /// Adds left @ right to the 16 columns from `column` on.
  void addProducts(Values &sums, int64_t column, mlir::ValueRange left,
                   llvm::ArrayRef<mlir::Value> right);
  Rows rowsOf(mlir::Value pointer, int64_t length, int64_t width) const;
  void copy(const Rows &rows, mlir::Value from, int64_t count, mlir::Value to);
  /// Of streamed array `array`, the slot of `tile`.
  mlir::Value slot(int64_t array, mlir::Value tile) const;
  mlir::Value at(mlir::Value offset) const;

  mlir::Type half;
  TensorCore core;
  mlir::Value shared, thread, warpRow, laneRow, laneColumn, batch, headInBatch;
};

} // namespace dlc::cuda
