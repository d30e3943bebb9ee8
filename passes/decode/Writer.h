// SPDX-License-Identifier: Apache-2.0
// Rewrites the ops of @predict into a function of one sequence.
#pragma once

#include "mlir/IR/IRMapping.h"
#include "passes/decode/OneText.h"

namespace dlc::decode {

/// A value of the new function: the part of a value of @predict, with
/// dimensions `dims`, that belongs to the sequence or token.
struct Row {
  mlir::Value value;
  Dims dims;
};
using Rows = llvm::SmallVector<Row, 4>;

class Writer {
public:
  Writer(TextModel &model, bool one)
      : model(model), one(one), tokens(one ? 1 : model.length),
        b(model.predict.getContext()) {}

  mlir::LogicalResult run();

private:
  void addFunction();
  mlir::LogicalResult addReturn(mlir::Operation *end);

  // How each op treats tokens: TokenRules.cpp.
  mlir::LogicalResult rewrite(mlir::Operation *op);
  mlir::LogicalResult elementwise(mlir::Operation *op, Rows &operands);
  mlir::LogicalResult reduce(mlir::Operation *op,
                             ir::ReductionInterface reduction, Rows &operands);
  mlir::LogicalResult softmax(mlir::Operation *op, uint64_t axis,
                              Rows &operands);
  mlir::LogicalResult rewrite(ir::LayerNormOp op, Rows &operands);
  mlir::LogicalResult rewrite(ir::ReshapeOp op, Rows &operands);
  mlir::LogicalResult rewrite(ir::TransposeOp op, Rows &operands);
  mlir::LogicalResult rewrite(ir::BroadcastOp op, Rows &operands);
  mlir::LogicalResult rewrite(ir::SliceOp op, Rows &operands);
  mlir::LogicalResult rewrite(ir::ConcatOp op, Rows &operands);
  mlir::LogicalResult rewrite(ir::GatherOp op, Rows &operands);
  mlir::LogicalResult rewrite(ir::MatmulOp op, Rows &operands);
  mlir::LogicalResult rewrite(ir::AttentionOp op, Rows &operands);
  void see(ir::AttentionOp op, Rows &operands);

  /// An error, to which the caller appends the reason.
  mlir::InFlightDiagnostic refuse(mlir::Operation *op);
  bool isRow(mlir::Value v) const { return rows.contains(v); }
  Row get(mlir::Value v) const;
  /// Copies the op with these operands; its results have these dimensions.
  mlir::Operation *make(mlir::Operation *op, const Rows &operands,
                        llvm::ArrayRef<Dims> results);
  /// Selects from dimension `axis` of `row`, which is complete, the elements
  /// that belong to the sequence or token under the factors `as`.
  void pick(Row &row, int64_t axis, const Dim &as, mlir::Location loc);
  /// Calls pick if dimension `axis` is not yet `as`; false if it cannot be.
  bool conform(Row &row, int64_t axis, const Dim &as, mlir::Location loc);
  /// Broadcasts all dimensions of the operands except the last `trailing`.
  std::optional<Dims> align(llvm::MutableArrayRef<Row> operands,
                            size_t trailing, mlir::Location loc);
  /// The values of all tokens, read from a cache into which `row` is written.
  mlir::FailureOr<Row> all(const Row &row, mlir::Operation *op);
  ir::StateOp cacheOf(mlir::RankedTensorType type, mlir::Location loc);

  static Dim dimOf(Axis axis, int64_t size) {
    return size == 1 ? Dim() : Dim{{axis, size}};
  }
  static size_t countTimes(const Dims &dims) {
    return llvm::count_if(dims,
                          [](const Dim &dim) { return has(dim, Axis::Time); });
  }

  TextModel &model;
  const bool one;
  const int64_t tokens; // number of tokens of the function
  mlir::OpBuilder b;
  mlir::func::FuncOp f;
  mlir::Value position;                  // of the single token
  llvm::DenseMap<mlir::Value, Row> rows; // depend on sequences or tokens
  mlir::IRMapping whole;                 // all other values
  llvm::DenseMap<mlir::Value, Row> cached;
  size_t caches = 0;
};

} // namespace dlc::decode
