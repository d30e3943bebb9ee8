// SPDX-License-Identifier: Apache-2.0
// Rules for ops that compute rows of their results from the same rows of their
// operands, and how to build them for some of the rows.
#pragma once

#include "compiler/dialect/Dlc.h"

namespace dlc {

/// The part of an operand or result that belongs to a set of rows.
enum class Part {
  Rows,  // these rows
  Whole, // of an operand: all of it, for any rows
  Sum,   // of a result: the sum over rows, split into partial sums
};

struct RowRule {
  llvm::SmallVector<Part, 4> operands;
  llvm::SmallVector<Part, 2> results;
};

/// For tensors whose leading dimensions are the `rows`: [rows, ...] or [batch,
/// time, ...]. A tensor of some of the rows is [count, ...].
class RowRules {
public:
  explicit RowRules(int64_t rows) : rows(rows) {}

  /// Nullopt if the op mixes rows or is not known.
  std::optional<RowRule> of(mlir::Operation *op) const;

  /// The number of leading dimensions that make up the rows; 0: none do.
  int64_t leading(mlir::RankedTensorType t) const;
  /// The type of `count` rows of a tensor of type `t`.
  mlir::RankedTensorType partOf(mlir::RankedTensorType t, int64_t count) const;
  /// Rows [first, first + count) of `v`; an alias of its memory if the offset
  /// has the alignment of a tensor.
  mlir::Value slice(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value v,
                    int64_t first, int64_t count) const;
  /// The op for `count` rows, with `operands` as its rule says. Returns the
  /// parts of the results; partial sums have the result's shape.
  llvm::SmallVector<mlir::Value> build(mlir::OpBuilder &builder,
                                       mlir::Operation *op, const RowRule &rule,
                                       llvm::ArrayRef<mlir::Value> operands,
                                       int64_t count) const;

private:
  std::optional<RowRule> ofBroadcasting(mlir::Operation *op) const;
  std::optional<RowRule> ofReduction(ir::ReductionInterface op) const;
  std::optional<RowRule> ofProduct(ir::MatmulOp op) const;

  int64_t rows;
};

} // namespace dlc
