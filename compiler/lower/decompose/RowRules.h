// SPDX-License-Identifier: Apache-2.0
// Which ops compute rows of their results from the same rows of their operands,
// and how they do so for some of the rows.
#pragma once

#include "compiler/dialect/Dlc.h"

namespace dlc {

/// What of an operand or a result belongs to some rows.
enum class Part {
  Rows,  // these rows
  Whole, // all of an operand, whatever the rows
  Sum,   // of a result: the sum over rows, of which each part has its own
};

struct RowRule {
  llvm::SmallVector<Part, 4> operands;
  llvm::SmallVector<Part, 2> results;
};

/// For tensors whose first dimensions are `rows` together: [rows, ...] or
/// [batch, time, ...]. Tensors of some of the rows are [count, ...].
class RowRules {
public:
  explicit RowRules(int64_t rows) : rows(rows) {}

  /// None where rows are mixed, or where nothing is known.
  std::optional<RowRule> of(mlir::Operation *op) const;

  /// How many dimensions are the rows; 0: there are none.
  int64_t leading(mlir::RankedTensorType t) const;
  /// [count, ...].
  mlir::RankedTensorType partOf(mlir::RankedTensorType t, int64_t count) const;
  /// Rows [first, first + count) of `v`: a range of it where that lies as a
  /// tensor must.
  mlir::Value slice(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value v,
                    int64_t first, int64_t count) const;
  /// The op for `count` rows: `operands` are those of its rule. Returns the
  /// parts of the results, sums in the result's shape.
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
