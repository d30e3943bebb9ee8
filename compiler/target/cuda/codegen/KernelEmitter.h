// SPDX-License-Identifier: Apache-2.0
// Emits a kernel as a function of one GPU thread.
#pragma once

#include "compiler/dialect/Exec.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace dlc::cuda {

/// Appends the function of `kernel`, its constant tables and its shared arrays
/// to `module`, in llvm, nvvm, scf, arith and math, whose dialects must be
/// loaded. Its parameters are bare pointers to global memory, 16-byte aligned:
/// inputs, then outputs; if the kernel is parted, also the number of elements
/// of each, an i64. Fails with a diagnostic at the kernel if the cluster is not
/// valid or not mapped.
llvm::LogicalResult emitKernel(exec::KernelOp kernel, mlir::ModuleOp module);

/// The entry of `kernel`, without a body. `counts`: the pointers are followed
/// by the number of elements.
mlir::LLVM::LLVMFuncOp makeKernel(exec::KernelOp kernel, mlir::OpBuilder &b,
                                  size_t pointers, int64_t block,
                                  bool counts = false);

} // namespace dlc::cuda
