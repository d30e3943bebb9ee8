// SPDX-License-Identifier: Apache-2.0
// Versions of @predict for one sequence instead of a batch: for all its tokens
// (prefill) or for one token (decode).
#pragma once

#include "compiler/dialect/Expr.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/decode/Axes.h"

namespace dlc::decode {

/// Data that both functions share.
struct TextModel {
  mlir::func::FuncOp predict;
  unsigned tokens; // index of the argument with the tokens
  int64_t batch, length;
  /// States @cache/0, @cache/1, ... in order of creation.
  llvm::SmallVector<ir::StateOp> caches;
};

/// Describes @predict, whose inputs must be integers [B, T] and at most
/// 'attention_mask' and 'position_ids' besides; else an error at the function.
mlir::FailureOr<TextModel> textModel(mlir::func::FuncOp predict);

/// Adds @prefill(tokens [1, T]), which also stores in the caches the rows that
/// later tokens read, or @decode(tokens [1, 1], position [1]), which reads the
/// caches and writes its own row. The results are those of @predict for these
/// tokens. An error at an op that combines tokens other than by products with a
/// value of all tokens, as attention does.
mlir::LogicalResult addFunctionOfText(TextModel &model, bool one);

} // namespace dlc::decode
