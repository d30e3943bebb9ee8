// SPDX-License-Identifier: Apache-2.0
// A warp's products of 16 x 16 by 16 x 8 halves, with sums in f32, and what
// brings operands to them: asynchronous copies and loads of fragments from
// shared memory.
#pragma once

#include "compiler/target/cuda/codegen/threads/Threads.h"

namespace dlc::cuda {

/// A matrix of halves in shared memory: `lines` of adjacent elements, `stride`
/// apart; depth is the dimension that products sum over, the other one is rows
/// of a left operand or columns of a right one. `base`, `stride` and all
/// positions are multiples of 8 elements.
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

  /// The fragment of 16 x 16 elements of a left operand, or of two adjacent 16
  /// x 8 ones of a right operand (two registers each), where `outer` (which may
  /// be null) plus `moreOuter` and `depth` are. All threads of a warp are here.
  Registers left(const SharedMatrix &m, mlir::Value outer, int64_t moreOuter,
                 int64_t depth);
  Registers right(const SharedMatrix &m, mlir::Value outer, int64_t moreOuter,
                  int64_t depth);
  /// sums + a @ b: of row lane / 4 columns 2 (lane % 4) and the next one, then
  /// the same of row 8 + lane / 4.
  Registers multiply(mlir::ValueRange a, mlir::ValueRange b,
                     mlir::ValueRange sums);
  /// A register of a fragment: two values rounded to halves.
  mlir::Value pack(mlir::Value low, mlir::Value high);

  /// Starts a copy of `bytes` (4, 8 or 16) from global to shared memory; of
  /// zeros unless `inside` (null: always) holds.
  void copy(mlir::Value to, mlir::Value from, int64_t bytes,
            mlir::Value inside);
  void commit();
  /// The thread's copies have landed but those of the last `groups` commits.
  void wait(int64_t groups);

  /// The thread's number in its warp.
  mlir::Value lane();

private:
  Registers load(const SharedMatrix &m, mlir::Value outer, int64_t moreOuter,
                 int64_t depth, bool isLeft);

  ScalarEmitter &e;
  Threads &t;
  mlir::Type half;
};

} // namespace dlc::cuda
