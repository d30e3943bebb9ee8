// SPDX-License-Identifier: Apache-2.0
// Tensors that are split over ranks, and the ops of Split.td. Only lowering
// creates them, so they are not in Dlc.h.
#pragma once

#include "compiler/dialect/Dlc.h"

#define GET_OP_CLASSES
#include "compiler/dialect/Split.h.inc"

namespace dlc::ir {

/// Number of integers in the results of square_sums and count_nonfinite.
constexpr int64_t kWordsOfSquares = 69, kWordsOfCount = 1;

/// The parameter that `type` is split like; null if it is whole.
inline mlir::FlatSymbolRefAttr splitOf(mlir::Type type) {
  return llvm::dyn_cast_or_null<mlir::FlatSymbolRefAttr>(
      llvm::cast<mlir::RankedTensorType>(type).getEncoding());
}
inline mlir::FlatSymbolRefAttr splitOf(mlir::Value v) {
  return splitOf(v.getType());
}
/// Whether the result of `op` is the memory of its operand, or a part of it.
bool isOperandsMemory(mlir::Operation *op);
/// The same tensor type, split over ranks like parameter `of`.
inline mlir::RankedTensorType splitType(mlir::Type whole,
                                        mlir::FlatSymbolRefAttr of) {
  auto type = llvm::cast<mlir::RankedTensorType>(whole);
  return mlir::RankedTensorType::get(type.getShape(), type.getElementType(),
                                     of);
}

/// Called once by the dialect.
void registerSplits(DlcDialect &dialect);

} // namespace dlc::ir
