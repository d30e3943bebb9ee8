// SPDX-License-Identifier: Apache-2.0
// Which ops compute in half, and why.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/autocast/CastLists.h"
#include "llvm/ADT/MapVector.h"

namespace dlc {

/// What decided about an op, given its list.
enum class CastRule {
  Listed,   // the list itself
  Between,  // infer or clear between `from` and `to`, both on the allow list
  Tail,     // infer or clear below `from`, with nothing but results below
  Follows,  // clear, touches `from`, which is in half
  Behind,   // on the way from `from`, which is denied
  NotBelow, // nothing on the allow list above it
  NotAbove, // nothing on the allow list below it
  Inputs,   // its inputs are of that type
  Promoted, // an input is f32, that of `from` if it is an op's
  Overflow, // arithmetic with a constant beyond half's range
};

struct CastDecision {
  bool half = false;
  CastRule rule = CastRule::Listed;
  mlir::Operation *from = nullptr, *to = nullptr;
  CastEntry entry;
};

/// Every op of a function that autocast may decide about, in the function's
/// order.
using CastDecisions = llvm::MapVector<mlir::Operation *, CastDecision>;

/// Decides without changing anything; linear in the size of `f`. `lists` must
/// outlive the result.
CastDecisions decideCasts(mlir::func::FuncOp f, const CastLists &lists,
                          mlir::FloatType half);

/// Whether autocast may change the precision in which an operand is read, or a
/// result is given: those are f32 and not pinned.
bool changesPrecision(mlir::OpOperand &use);
bool changesPrecision(mlir::OpResult result);

/// Rounds to `type`; a finite number beyond its range (a mask of -1e9) becomes
/// the last one inside.
llvm::APFloat roundInto(llvm::APFloat x, mlir::FloatType type);
/// Whether rounding had to do that.
bool isBeyond(const llvm::APFloat &x, mlir::FloatType type);

} // namespace dlc
