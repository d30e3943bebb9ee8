// SPDX-License-Identifier: Apache-2.0
// Emits a kernel's loops as an LLVM function whose body is scf, arith and math.
#pragma once

#include "compiler/dialect/Exec.h"
#include "compiler/target/cpu/codegen/CpuTarget.h"
#include "mlir/IR/BuiltinOps.h"

namespace dlc {

/// Appends the function of `kernel` and its constant tables to `module`. The
/// dialects llvm, scf, arith and math must be loaded. Fails with a diagnostic
/// at the kernel if the cluster is not valid.
llvm::LogicalResult emitKernel(exec::KernelOp kernel, mlir::ModuleOp module,
                               const CpuTarget &target);

} // namespace dlc
