// The kinds of loss that a model's output can have: one row of a table each.
#pragma once

#include "compiler/dialect/Expr.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Options.h"

namespace dlc {

/// All [R]. `correct` is 1 for a hit and 0 otherwise, null for losses that know
/// no hits. The loss is the mean of `loss`, or its sum over that of `weight`
/// where that is not null.
struct LossRows {
  mlir::Value loss, correct, weight{};
};

struct LossKind {
  llvm::StringRef name;
  /// The labels' type for an output of type `out`; null, with an error, when
  /// that does not fit. No function: the output is the loss, without labels.
  mlir::RankedTensorType (*labels)(mlir::func::FuncOp predict,
                                   mlir::RankedTensorType out,
                                   const LossOptions &options);
  /// The value below the op that this loss contains; `out` itself when there is
  /// none.
  mlir::Value (*logits)(mlir::Value out, const LossOptions &options);
  LossRows (*rows)(ir::Expr logits, ir::Expr labels,
                   const LossOptions &options);
};

/// Null if there is none of this name.
const LossKind *findLossKind(llvm::StringRef name);

/// 1 where the largest of a row's logits [R, C] is its label's [R].
ir::Expr classHits(ir::Expr logits, ir::Expr labels);

/// 0 <= axis < rank of the classes: --class-axis, else 1 from rank 4 on and the
/// last below; nothing if the option does not fit.
std::optional<int64_t> classAxis(int64_t rank, const LossOptions &options);

} // namespace dlc
