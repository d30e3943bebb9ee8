// SPDX-License-Identifier: Apache-2.0
// Decides which ops compute in half, and records why.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/autocast/CastLists.h"
#include "llvm/ADT/MapVector.h"

namespace dlc {

/// The rule that decided an op's type, given its list.
enum class CastRule {
  Listed,   // the op's list itself
  Between,  // infer or clear, between `from` and `to`, which are allowed
  Tail,     // infer or clear, after `from`, with only results after it
  Follows,  // clear, next to `from`, which is in half
  Behind,   // reached from `from`, which is denied
  NotBelow, // no allowed op precedes it
  NotAbove, // no allowed op follows it
  Inputs,   // its inputs have that type
  Promoted, // an input is f32: the result of `from`, unless null
  Overflow, // arithmetic with a constant beyond half's range
};

struct CastDecision {
  bool half = false;
  CastRule rule = CastRule::Listed;
  mlir::Operation *from = nullptr, *to = nullptr;
  CastEntry entry;
};

/// The ops of a function that autocast may decide about, in order.
using CastDecisions = llvm::MapVector<mlir::Operation *, CastDecision>;

/// Computes the decisions without changing anything, in time linear in the size
/// of `f`. `lists` must outlive the result.
CastDecisions decideCasts(mlir::func::FuncOp f, const CastLists &lists,
                          mlir::FloatType half);

/// Whether autocast may change the precision in which an operand is read or a
/// result is produced: it must be f32 and not pinned.
bool changesPrecision(mlir::OpOperand &use);
bool changesPrecision(mlir::OpResult result);

/// Rounds to `type`; finite numbers outside its range (a mask of -1e9) become
/// the largest finite number of that sign.
llvm::APFloat roundInto(llvm::APFloat x, mlir::FloatType type);
/// Whether `x` is such a number outside the range of `type`.
bool isBeyond(const llvm::APFloat &x, mlir::FloatType type);

} // namespace dlc
