// SPDX-License-Identifier: Apache-2.0
// What runs instead of calls that a device may turn out to lack.
#pragma once

#include "compiler/dialect/Epilogues.h"
#include "compiler/kernel/KernelTable.h"

namespace dlc {

/// Operands of `op` that its call has, too.
mlir::ValueRange operandsOfCall(mlir::Operation *op);

/// Writes a product with an activation or its gradient as a plain product and
/// kernels, on the buffers of its call: for one program.
class CallsApart {
public:
  explicit CallsApart(KernelTable &kernels) : kernels(kernels) {}

  /// Behind the call of `op`, which has the mark kMayLack. What is kept of relu
  /// is the library's own: the calls for both sides of one have one number, so
  /// that both run or neither.
  void emit(mlir::OpBuilder &b, mlir::Operation *op,
            llvm::function_ref<mlir::Value(mlir::Value)> buffer);

private:
  KernelTable &kernels;
  llvm::DenseMap<mlir::Operation *, int64_t> groups; // of what keeps bits
  int64_t nextGroup = 0;
};

} // namespace dlc
