// SPDX-License-Identifier: Apache-2.0
// A warp's products of 16 x 16 by 16 x 8 16-bit elements with f32 sums, and the
// movement of their operands: asynchronous copies and loads of fragments from
// shared memory.
#pragma once

#include "compiler/target/cuda/codegen/threads/Threads.h"

namespace dlc::cuda {

/// A matrix of 16-bit elements in shared memory: lines of adjacent elements,
/// `stride` apart. Depth is the dimension that products sum over; the other
/// dimension is the rows of a left operand or the columns of a right one.
/// `base`, `stride` and all positions must be multiples of 8 elements.
struct SharedMatrix {
  mlir::Value base;
  int64_t stride;
  bool depthIsFast;
};

class TensorCore {
public:
  using Registers = llvm::SmallVector<mlir::Value, 4>;

  /// `half`: bf16 or f16.
  TensorCore(ScalarEmitter &e, Threads &t, mlir::Type half);

  /// The fragment at `outer` (may be null) plus `moreOuter` and `depth`: 16 x
  /// 16 elements of a left operand, or two adjacent 16 x 8 fragments of a right
  /// operand (two registers each). All threads of the warp must participate.
  Registers left(const SharedMatrix &m, mlir::Value outer, int64_t moreOuter,
                 int64_t depth);
  Registers right(const SharedMatrix &m, mlir::Value outer, int64_t moreOuter,
                  int64_t depth);
  /// sums + a @ b. A thread has columns 2 (lane % 4) and the next one of row
  /// lane / 4, then the same columns of row 8 + lane / 4.
  Registers multiply(mlir::ValueRange a, mlir::ValueRange b,
                     mlir::ValueRange sums);
  /// Packs two values, rounded to 16 bits, into a register of a fragment.
  mlir::Value pack(mlir::Value low, mlir::Value high);

  /// Starts an asynchronous copy of `bytes` (4, 8 or 16) from global to shared
  /// memory; zeros are written if `inside` (null: true) is false.
  void copy(mlir::Value to, mlir::Value from, int64_t bytes,
            mlir::Value inside);
  void commit();
  /// Waits for the thread's copies, except those of the last `groups` commits.
  void wait(int64_t groups);

  /// Index of the thread in its warp.
  mlir::Value lane();

private:
  Registers load(const SharedMatrix &m, mlir::Value outer, int64_t moreOuter,
                 int64_t depth, bool isLeft);

  ScalarEmitter &e;
  Threads &t;
  mlir::Type half;
};

} // namespace dlc::cuda
