// SPDX-License-Identifier: Apache-2.0
// What attention kernels share: 64 rows (of queries or keys) are resident in
// shared memory, 16 per warp, while the other rows are streamed in tiles.
#pragma once

#include "compiler/dialect/Exec.h"
#include "compiler/target/cuda/codegen/threads/TensorCore.h"

namespace dlc::cuda {

/// Sizes of an attention and of its tiles in shared memory.
struct AttentionTiling {
  static constexpr int64_t kRows = 64, kThreads = 128, kPadding = 8;

  /// For an attention or its gradient.
  AttentionTiling(mlir::Operation *op, int64_t rows, int64_t slots);
  /// The largest that fit into shared memory.
  static AttentionTiling deciding(mlir::Operation *op);
  /// From the attribute in the IR; nullopt if it is not valid for an attention.
  static std::optional<AttentionTiling> of(mlir::Operation *op,
                                           const exec::Tile &tile);

  ir::AttentionDims dims;
  bool headsFirst;
  double scale;
  int64_t rows, slots; // rows per streamed tile; pipeline stages
  int64_t residentElements, slotElements; // largest array, in 16-bit elements

  /// Numbers of resident and of streamed arrays.
  int64_t resident, streamed;

  bool fits() const;
  exec::Tile tile() const;
  static int64_t padded(int64_t width) { return (width + 15) / 16 * 16; }
  int64_t blocks(bool overKeys) const;
};

class AttentionTiles {
public:
  using Values = llvm::SmallVector<mlir::Value>;

  /// The rows of one head of an array [B, H, T, width] or [B, T, H, width].
  struct Rows {
    mlir::Value pointer, base;
    int64_t stride, length, width;
  };

  AttentionTiles(ScalarEmitter &e, Threads &t, mlir::Operation *op,
                 const AttentionTiling &tiling);

  Rows queries(mlir::Value pointer, int64_t width) const;
  Rows keys(mlir::Value pointer, int64_t width) const;
  /// Computes which queries or keys the block handles.
  void place(bool overKeys);

  //===--- movement -------------------------------------------------------===//

  /// Starts the copy of the block's rows to resident array `array`.
  void keep(const Rows &rows, int64_t array);
  /// Runs `body` for tiles [first, end) of rows, in order: tiles of `arrays`
  /// are then in the matrices that streamed() returns. `before` runs as soon as
  /// the tile's slot of statistics may be written.
  Values stream(mlir::Value first, mlir::Value end, llvm::ArrayRef<Rows> arrays,
                Values carried, llvm::function_ref<void(mlir::Value)> before,
                llvm::function_ref<Values(mlir::Value, mlir::ValueRange)> body);
  SharedMatrix resident(int64_t array, int64_t width) const;
  /// A streamed tile as an operand whose depth is its width, or its rows.
  SharedMatrix streamed(int64_t array, int64_t width, mlir::Value tile,
                        bool overRows) const;
  /// Rounds the sums of the block's rows and stores them to `rows`, through
  /// resident memory.
  void store(mlir::ValueRange sums, const Rows &rows);

  //===--- products -------------------------------------------------------===//

  /// Sums of [16 rows of the warp, tile], four registers per 8 columns.
  Values products(const SharedMatrix &kept, const SharedMatrix &tile,
                  int64_t width);
  /// sums + factors @ tile, with factors in the register layout of products().
  Values accumulate(mlir::ValueRange sums, mlir::ValueRange factors,
                    const SharedMatrix &tile, int64_t width);
  Values zeros(int64_t width) const;
  /// The scaled and masked score of a product; -inf where the query does not
  /// attend to the key.
  mlir::Value score(mlir::Value product, mlir::Value query, mlir::Value key);

  //===--- the thread's elements ------------------------------------------===//

  /// The row in the block of element i of four, and the column in the tile of
  /// element i of a tile's sums.
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
  mlir::Value first; // the block's first row
  mlir::Value head;  // index over batches and heads
  mlir::Value mask;  // argument, or null

private:
  /// Adds left @ right to the 16 columns from `column` on.
  void addProducts(Values &sums, int64_t column, mlir::ValueRange left,
                   llvm::ArrayRef<mlir::Value> right);
  Rows rowsOf(mlir::Value pointer, int64_t length, int64_t width) const;
  void copy(const Rows &rows, mlir::Value from, int64_t count, mlir::Value to);
  /// The slot of `tile` for streamed array `array`.
  mlir::Value slot(int64_t array, mlir::Value tile) const;
  mlir::Value at(mlir::Value offset) const;

  mlir::Type half;
  TensorCore core;
  mlir::Value shared, thread, warpRow, laneRow, laneColumn, batch, headInBatch;
};

} // namespace dlc::cuda
