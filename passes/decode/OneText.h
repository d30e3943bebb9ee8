// SPDX-License-Identifier: Apache-2.0
// @predict for one text instead of a batch, for all its tokens or one of them.
#pragma once

#include "compiler/dialect/Expr.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/decode/Axes.h"

namespace dlc::decode {

/// What both functions share.
struct TextModel {
  mlir::func::FuncOp predict;
  unsigned tokens; // the argument
  int64_t batch, length;
  /// States @cache/0, @cache/1, ... in the order in which they are met.
  llvm::SmallVector<ir::StateOp> caches;
};

/// The model that @predict is: integers [B, T], and nothing beside them but
/// 'attention_mask' and 'position_ids'. An error at the function if it is not.
mlir::FailureOr<TextModel> textModel(mlir::func::FuncOp predict);

/// Adds @prefill(tokens [1, T]), which also leaves in the caches what later
/// tokens read of these, or @decode(tokens [1, 1], position [1]), which reads
/// caches and writes its own row of them. Results are @predict's, of those
/// tokens. An error at the op that mixes tokens in another way than by products
/// with a value of all of them, as attention does.
mlir::LogicalResult addFunctionOfText(TextModel &model, bool one);

} // namespace dlc::decode
