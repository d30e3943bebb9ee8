// SPDX-License-Identifier: Apache-2.0
// Helpers for computations in steps: each step reads a slice of a shared tensor
// and produces a slice of the result.
#pragma once

#include "compiler/dialect/Expr.h"
#include "compiler/lower/Marks.h"
#include "compiler/lower/memory/StateLayout.h"

namespace dlc::ir {

/// Marks a slice or concat as in place, if all of its parts are aligned.
inline void markInPlace(mlir::Value whole, mlir::RankedTensorType part) {
  if (byteSize(part) % kAlignment == 0)
    whole.getDefiningOp()->setAttr(kInPlace,
                                   mlir::UnitAttr::get(whole.getContext()));
}

/// Rows [first, first + count) of a matrix.
inline Expr stepRows(Expr x, int64_t first, int64_t count) {
  const int64_t columns = x.shape()[1];
  Expr part = x.make<SliceOp>(x.v, llvm::ArrayRef<int64_t>{first, 0},
                              llvm::ArrayRef<int64_t>{count, columns},
                              llvm::ArrayRef<int64_t>{1, 1});
  if (part.v.getDefiningOp<SliceOp>())
    markInPlace(part, part.type());
  return part;
}

/// Concatenates the parts, each [B, N], along rows.
inline Expr stackRows(llvm::ArrayRef<Expr> parts) {
  llvm::SmallVector<mlir::Value> values;
  for (const Expr &part : parts)
    values.push_back(part);
  Expr whole =
      parts.front().make<ConcatOp>(mlir::ValueRange(values), uint64_t(0));
  markInPlace(whole, parts.front().type());
  return whole;
}

} // namespace dlc::ir
