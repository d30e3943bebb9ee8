// SPDX-License-Identifier: Apache-2.0
// Which values of a model are of one token each, which of two, and how
// attention is kept from looking from one document of a row to another.
#pragma once

#include "compiler/dialect/Expr.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/decode/Axes.h"

namespace dlc::pack {

using decode::Axis;
using decode::Dim;
using decode::Dims;

/// What a value that depends on inputs has of texts and tokens. With tokens in
/// two dimensions only pairs of one document's have a meaning; `apart`: what is
/// of other pairs is 0.
struct TokenDims {
  Dims dims;
  bool apart = false;
};

class Documents {
public:
  Documents(mlir::func::FuncOp f, const mlir::SymbolTable &symbols)
      : f(f), symbols(symbols), b(f.getContext()) {}

  /// Rewrites the function's attention. An error where tokens meet in another
  /// way, or know their place in the row, and a result depends on that.
  mlir::LogicalResult run();

private:
  /// Why what an op makes is not one document's; null if it is.
  using Reason = const char *;
  using Rows = llvm::SmallVector<TokenDims *, 4>; // null: of no input
  struct Flaw {
    mlir::Operation *op;
    Reason reason;
  };

  mlir::LogicalResult takeArguments();
  mlir::LogicalResult checkResults(mlir::Operation *end);
  Reason visit(mlir::Operation *op);

  // What each op does to tokens: DocumentRules.cpp.
  Reason elementwise(mlir::Operation *op, const Rows &operands);
  Reason reduce(mlir::Operation *op, ir::ReductionInterface reduction,
                const Rows &operands);
  Reason softmax(mlir::Operation *op, uint64_t axis, const Rows &operands);
  Reason visit(ir::LayerNormOp op, const Rows &operands);
  Reason visit(ir::ReshapeOp op, const Rows &operands);
  Reason visit(ir::TransposeOp op, const Rows &operands);
  Reason visit(ir::BroadcastOp op, const Rows &operands);
  Reason visit(ir::SliceOp op, const Rows &operands);
  Reason visit(ir::ConcatOp op, const Rows &operands);
  Reason visit(ir::GatherOp op, const Rows &operands);
  Reason visit(ir::MatmulOp op, const Rows &operands);
  Reason visit(ir::AttentionOp op, const Rows &operands);

  /// Dimension `back` from the end of each operand, joined into one.
  Reason join(mlir::ValueRange values, const Rows &operands, size_t back,
              Dim &dim) const;
  /// Whether operands of no input, whose dimensions from the end these are, are
  /// the same for a document wherever in the row it is.
  Reason checkPlaces(mlir::ValueRange values, const Rows &operands,
                     const Dims &dims) const;
  bool isApart(mlir::Operation *op, const Rows &operands) const;
  void set(mlir::Value v, Dims dims, bool apart = false) {
    rows[v] = {std::move(dims), apart};
  }

  /// Booleans of `dims`: whether both tokens are of one document; null where
  /// that cannot be said.
  mlir::Value sameDocument(const Dims &dims, mlir::Location loc);

  static Dim dimOf(Axis axis, int64_t size) {
    return size == 1 ? Dim() : Dim{{axis, size}};
  }
  static size_t countTimes(const Dims &dims);

  mlir::func::FuncOp f;
  const mlir::SymbolTable &symbols;
  mlir::OpBuilder b;
  int64_t batch = 0, length = 0;
  mlir::Value document; // [B, T]: where in the row each token's begins
  llvm::DenseMap<mlir::Value, TokenDims> rows;
  llvm::DenseMap<mlir::Value, Flaw> flaws; // of values that mix documents
};

} // namespace dlc::pack
