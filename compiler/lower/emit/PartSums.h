// SPDX-License-Identifier: Apache-2.0
// Norms and finiteness of gradients of which each rank has a part, by kernels:
// where the device has no calls for them.
#pragma once

#include "compiler/dialect/Exec.h"
#include "compiler/dialect/Expr.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringMap.h"

namespace dlc {

/// The kernels of a module; equal ones are one.
class PartSums {
public:
  explicit PartSums(mlir::SymbolTable &symbols) : symbols(symbols) {}

  /// Replaces `call`, a global_norm or all_finite, by kernels that sum the part
  /// that a rank has of each input, a sum over the ranks as collective `bucket`
  /// and a kernel for the result: equal on all ranks. `scratch`: a buffer of so
  /// many elements in memory of its own.
  void replace(exec::CallOp call, int64_t bucket,
               llvm::function_ref<mlir::Value(mlir::MemRefType)> scratch);

private:
  using Body = llvm::function_ref<mlir::Value(ir::Expr)>;

  /// Launches, before `call`, the kernel of one input and one output.
  exec::KernelOp launch(exec::CallOp call, llvm::StringRef name,
                        mlir::Value input, mlir::Value output, Body body);

  mlir::SymbolTable &symbols;
  llvm::StringMap<exec::KernelOp> kernels;
};

} // namespace dlc
