// SPDX-License-Identifier: Apache-2.0
// Tensors of which each rank holds a part, and the ops of Split.td. Only
// lowering makes and sees them, so they are not in Dlc.h.
#pragma once

#include "compiler/dialect/Dlc.h"

#define GET_OP_CLASSES
#include "compiler/dialect/Split.h.inc"

namespace dlc::ir {

/// Integers of square_sums' result, and of count_nonfinite's.
constexpr int64_t kWordsOfSquares = 69, kWordsOfCount = 1;

/// The parameter as which `type` is split; null: it is whole.
inline mlir::FlatSymbolRefAttr splitOf(mlir::Type type) {
  return llvm::dyn_cast_or_null<mlir::FlatSymbolRefAttr>(
      llvm::cast<mlir::RankedTensorType>(type).getEncoding());
}
inline mlir::FlatSymbolRefAttr splitOf(mlir::Value v) {
  return splitOf(v.getType());
}
/// The same tensor, split as a parameter is.
inline mlir::RankedTensorType splitType(mlir::Type whole,
                                        mlir::FlatSymbolRefAttr of) {
  auto type = llvm::cast<mlir::RankedTensorType>(whole);
  return mlir::RankedTensorType::get(type.getShape(), type.getElementType(),
                                     of);
}

/// Called once, by the dialect.
void registerSplits(DlcDialect &dialect);

} // namespace dlc::ir
