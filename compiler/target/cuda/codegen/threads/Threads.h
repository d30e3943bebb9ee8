// SPDX-License-Identifier: Apache-2.0
// Thread and block indices, and communication between threads of a block.
#pragma once

#include "compiler/kernel/scalar/ScalarEmitter.h"
#include "mlir/IR/BuiltinOps.h"

namespace dlc::cuda {

constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;

class Threads {
public:
  using Values = llvm::SmallVector<mlir::Value>;

  /// Shared arrays are named after `kernel`.
  Threads(ScalarEmitter &e, mlir::ModuleOp module, llvm::StringRef kernel)
      : e(e), module(module), kernel(kernel) {}

  /// Has the index type; emitted at the insertion point.
  mlir::Value thread();
  mlir::Value block();
  /// Overrides the value of block() from here on.
  void setBlock(mlir::Value number) { given = number; }
  /// Whether this block, one of the `blocks` of its group (of `groups` in
  /// total), is the last of the group to get here: it then sees the stores of
  /// the others. All threads of the block must call this, once.
  mlir::Value comesLast(mlir::Value group, int64_t groups, int64_t blocks);

  /// The values of the thread whose lane differs from this one's in the bits of
  /// `mask` (shuffle). All threads of the warp must participate.
  Values exchange(mlir::ValueRange values, int64_t mask);
  /// Bit i: whether `condition` is true in thread i of the warp. All threads of
  /// the warp must participate.
  mlir::Value ballot(mlir::Value condition);
  /// Waits for all threads of the block; their stores are then visible.
  void barrier();
  /// A shared array of the block, not initialised.
  mlir::Value shared(mlir::Type element, int64_t count);

  //===--- arithmetic on indices that are not negative --------------------===//

  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value times(mlir::Value a, int64_t b);
  mlir::Value quotient(mlir::Value a, int64_t b);
  mlir::Value remainder(mlir::Value a, int64_t b);
  mlir::Value least(mlir::Value a, int64_t b);
  mlir::Value isLess(mlir::Value a, int64_t b);
  mlir::Value isLess(mlir::Value a, mlir::Value b);
  mlir::Value isZero(mlir::Value a);
  /// Null means true.
  mlir::Value both(mlir::Value a, mlir::Value b);
  mlir::Value choose(mlir::Value condition, mlir::Value a, mlir::Value b);

  /// Runs the body if `condition` (null: true) is true.
  void where(mlir::Value condition, llvm::function_ref<void()> body);

private:
  mlir::Value exchangeOne(mlir::Value v, int64_t mask);
  mlir::Value exchangeWord(mlir::Value v, int64_t mask);

  ScalarEmitter &e;
  mlir::ModuleOp module;
  llvm::StringRef kernel;
  int64_t arrays = 0;
  mlir::Value given; // null: from the grid
};

} // namespace dlc::cuda
