// SPDX-License-Identifier: Apache-2.0
// Keeps attention within documents when several are packed into a row: finds
// which values belong to one token, which to a pair of tokens, and masks
// attention between documents.
#pragma once

#include "compiler/dialect/Expr.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/decode/Axes.h"

namespace dlc::pack {

using decode::Axis;
using decode::Dim;
using decode::Dims;

/// Sequence and token dimensions of a value that depends on inputs. If two
/// dimensions are tokens, only elements of two tokens of one document are
/// valid; `apart`: all other elements are 0.
struct TokenDims {
  Dims dims;
  bool apart = false;
};

class Documents {
public:
  Documents(mlir::func::FuncOp f, const mlir::SymbolTable &symbols)
      : f(f), symbols(symbols), b(f.getContext()) {}

  /// Rewrites the function's attention. An error if tokens of different
  /// documents are combined in another way, or if a result depends on a token's
  /// position in the row.
  mlir::LogicalResult run();

private:
  /// Why a result mixes documents; null if it does not.
  using Reason = const char *;
  using Rows = llvm::SmallVector<TokenDims *, 4>; // null: depends on no input
  struct Flaw {
    mlir::Operation *op;
    Reason reason;
  };

  mlir::LogicalResult takeArguments();
  mlir::LogicalResult checkResults(mlir::Operation *end);
  Reason visit(mlir::Operation *op);

  // How each op treats tokens: DocumentRules.cpp.
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

  /// Merges the factors of dimension `back`, from the end, of all operands.
  Reason join(mlir::ValueRange values, const Rows &operands, size_t back,
              Dim &dim) const;
  /// Whether operands that do not depend on inputs, whose trailing dimensions
  /// are `dims`, have the same values for a document wherever it begins.
  Reason checkPlaces(mlir::ValueRange values, const Rows &operands,
                     const Dims &dims) const;
  bool isApart(mlir::Operation *op, const Rows &operands) const;
  void set(mlir::Value v, Dims dims, bool apart = false) {
    rows[v] = {std::move(dims), apart};
  }

  /// Booleans of shape `dims`: whether both tokens belong to one document; null
  /// if that is undefined.
  mlir::Value sameDocument(const Dims &dims, mlir::Location loc);

  static Dim dimOf(Axis axis, int64_t size) {
    return size == 1 ? Dim() : Dim{{axis, size}};
  }
  static size_t countTimes(const Dims &dims);

  mlir::func::FuncOp f;
  const mlir::SymbolTable &symbols;
  mlir::OpBuilder b;
  int64_t batch = 0, length = 0;
  mlir::Value document; // [B, T]: first token of each token's document
  llvm::DenseMap<mlir::Value, TokenDims> rows;
  llvm::DenseMap<mlir::Value, Flaw> flaws; // values that mix documents
};

} // namespace dlc::pack
