// SPDX-License-Identifier: Apache-2.0
// Where a thread is, and how threads of a block exchange values.
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

  /// Of the index type; emitted at the current place.
  mlir::Value thread();
  mlir::Value block();
  /// What block() is from here on, instead of the grid's.
  void setBlock(mlir::Value number) { given = number; }
  /// Whether this block, one of `blocks` in its group, one of `groups`, is the
  /// group's last to come here: it sees what the others have stored. All
  /// threads of the block must be here, once.
  mlir::Value comesLast(mlir::Value group, int64_t groups, int64_t blocks);

  /// The values of the thread whose number in the warp differs in the bits of
  /// `mask`. All threads of the warp must be here.
  Values exchange(mlir::ValueRange values, int64_t mask);
  /// Bit i: whether `condition` holds for thread i of the warp. All threads of
  /// the warp must be here.
  mlir::Value ballot(mlir::Value condition);
  /// All threads of the block have come here, and see each other's stores.
  void barrier();
  /// An array of the block, not initialized.
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
  /// Null stands for true.
  mlir::Value both(mlir::Value a, mlir::Value b);
  mlir::Value choose(mlir::Value condition, mlir::Value a, mlir::Value b);

  /// Runs the body where `condition` (null: always) holds.
  void where(mlir::Value condition, llvm::function_ref<void()> body);

private:
  mlir::Value exchangeOne(mlir::Value v, int64_t mask);
  mlir::Value exchangeWord(mlir::Value v, int64_t mask);

  ScalarEmitter &e;
  mlir::ModuleOp module;
  llvm::StringRef kernel;
  int64_t arrays = 0;
  mlir::Value given; // null: the grid says it
};

} // namespace dlc::cuda
