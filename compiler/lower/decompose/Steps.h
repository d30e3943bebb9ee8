// SPDX-License-Identifier: Apache-2.0
// What goes step by step: a step takes a range of what all steps share, and
// leaves one.
#pragma once

#include "compiler/dialect/Expr.h"
#include "compiler/lower/Marks.h"
#include "compiler/lower/memory/StateLayout.h"

namespace dlc::ir {

/// Where every range lies as a tensor must.
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

/// The parts, [B, N] each, below each other.
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
