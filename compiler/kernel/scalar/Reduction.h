// SPDX-License-Identifier: Apache-2.0
// The scalar side of a reduction: its state, how an element joins it, its
// result.
#pragma once

#include "compiler/dialect/Dlc.h"
#include "compiler/kernel/scalar/ScalarEmitter.h"

namespace dlc {

/// Of an op that has ReductionInterface, or of a product.
class Reduction {
public:
  using State = llvm::SmallVector<mlir::Value>;

  Reduction(const KernelGraph &graph, const KernelNode *node);
  /// The state of no element.
  State initial(ScalarEmitter &e) const;
  /// `state` with the element of the current loops.
  State combine(ScalarEmitter &e, mlir::ValueRange state) const;
  /// The state of the elements of both. It does not matter which is which.
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
