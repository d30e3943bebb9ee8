// SPDX-License-Identifier: Apache-2.0
// The dlc dialect: tensor arithmetic, state, gradients and collectives. One
// header for all families of ops.
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

/// Whether element types are equal and shapes compatible, which is all in which
/// an inferred type may differ from the actual one.
bool compatibleTypes(mlir::TypeRange inferred, mlir::TypeRange actual);
/// The same, but also accepts one f32 result where a 16-bit one is inferred.
bool compatibleOrWide(mlir::TypeRange inferred, mlir::TypeRange actual);

inline mlir::RankedTensorType tensorType(mlir::Value v) {
  return llvm::cast<mlir::RankedTensorType>(v.getType());
}
inline mlir::Type elementType(mlir::Value v) {
  return tensorType(v).getElementType();
}
/// The tensor behind all reshapes that lead to `v`.
mlir::Value viewedBy(mlir::Value v);
/// The sizes of an attention in either layout, and whether it is causal.
struct AttentionDims {
  int64_t batch, heads, queries, keys, depth, valueDepth;
  bool causal;
  /// `op` is an attention, its gradient, or an adaptor of either.
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

/// Rows of the output tiles of Winograd's algorithm, if it is used, else 0.
inline int64_t winogradTile(By by) {
  return by == By::Winograd2 ? 2 : by == By::Winograd4 ? 4 : 0;
}

/// Whether the op can be fused element by element, or decomposes into such ops.
inline bool isElementwise(mlir::Operation *op) {
  return llvm::isa<ElementwiseInterface>(op) ||
         op->hasTrait<mlir::OpTrait::Elementwise>();
}

} // namespace dlc::ir

#define GET_OP_CLASSES
#include "compiler/dialect/DlcOps.h.inc"
