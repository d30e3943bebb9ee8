// SPDX-License-Identifier: Apache-2.0
// The dlc dialect: tensor maths plus state, gradients and collectives. One
// header for all families.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "compiler/dialect/DlcDialect.h.inc"
#include "compiler/dialect/DlcEnums.h.inc"
#include "compiler/dialect/DlcInterfaces.h.inc"

namespace dlc::ir {

using Ints = llvm::ArrayRef<int64_t>;

/// Same element types and compatible shapes: what type inference may differ in.
bool compatibleTypes(mlir::TypeRange inferred, mlir::TypeRange actual);
/// The same, or f32 where one result of halves is inferred.
bool compatibleOrWide(mlir::TypeRange inferred, mlir::TypeRange actual);

inline mlir::RankedTensorType tensorType(mlir::Value v) {
  return llvm::cast<mlir::RankedTensorType>(v.getType());
}
inline mlir::Type elementType(mlir::Value v) {
  return tensorType(v).getElementType();
}
/// What `v` is a view of, through all reshapes.
mlir::Value viewedBy(mlir::Value v);
/// The sizes of an attention in either of its layouts, and what queries see.
struct AttentionDims {
  int64_t batch, heads, queries, keys, depth, valueDepth;
  bool causal;
  /// Of an attention, its gradient, or an adaptor of one.
  template <class Op> static AttentionDims of(Op op) {
    return of(tensorType(op.getQ()), tensorType(op.getK()),
              tensorType(op.getV()), op.getLayout(), op.getCausal());
  }
  static AttentionDims of(mlir::Operation *op);

private:
  static AttentionDims of(mlir::RankedTensorType q, mlir::RankedTensorType k,
                          mlir::RankedTensorType v, llvm::StringRef layout,
                          bool causal);
};

/// f16 or bf16.
inline bool isHalf(mlir::Type t) { return t.isF16() || t.isBF16(); }

/// Rows of the tiles of outputs where Winograd's products compute; else 0.
inline int64_t winogradTile(By by) {
  return by == By::Winograd2 ? 2 : by == By::Winograd4 ? 4 : 0;
}

/// Whether it fuses with others element by element, or decomposes into such.
inline bool isElementwise(mlir::Operation *op) {
  return llvm::isa<ElementwiseInterface>(op) ||
         op->hasTrait<mlir::OpTrait::Elementwise>();
}

} // namespace dlc::ir

#define GET_OP_CLASSES
#include "compiler/dialect/DlcOps.h.inc"
