// SPDX-License-Identifier: Apache-2.0
// Scalar code of a reduction: state, update by an element, result.
#pragma once

#include "compiler/dialect/Dlc.h"
#include "compiler/kernel/scalar/ScalarEmitter.h"

namespace dlc {

/// A reduction, or the sum of a product.
class Reduction {
public:
  using State = llvm::SmallVector<mlir::Value>;

  Reduction(const KernelGraph &graph, const KernelNode *node);
  /// The state before the first element (neutral element).
  State initial(ScalarEmitter &e) const;
  /// `state` updated with the element at the current loop indices.
  State combine(ScalarEmitter &e, mlir::ValueRange state) const;
  /// Combines the states of two sets of elements; commutative.
  State merge(ScalarEmitter &e, mlir::ValueRange a, mlir::ValueRange b) const;
  mlir::Value result(ScalarEmitter &e, mlir::ValueRange state) const;
  size_t width() const { return isArgMax() ? 2 : 1; }
  /// Types of the state.
  llvm::SmallVector<mlir::Type> types(const ScalarEmitter &e) const;

  const KernelNode *node;

private:
  ir::Combine combination() const;
  bool isArgMax() const;
  mlir::Type type() const;
  mlir::Value join(ScalarEmitter &e, mlir::Value a, mlir::Value b) const;
  const KernelGraph &graph;
};

} // namespace dlc
