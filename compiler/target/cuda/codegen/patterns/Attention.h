// SPDX-License-Identifier: Apache-2.0
// Flash attention, forward and backward: a block has 64 rows, the scores never
// leave registers, and every sum has an order that depends on the shape alone.
#pragma once

#include "compiler/dialect/Exec.h"
#include "mlir/IR/BuiltinOps.h"

namespace dlc::cuda {

/// How a kernel of attention (compiler/kernel/AttentionKernel.h) lies on
/// threads.
exec::Threads decideAttention(exec::KernelOp kernel);

/// The same as emitKernel of a kernel of attention: of halves, with head
/// dimensions that are multiples of 8 up to 128.
llvm::LogicalResult emitAttention(exec::KernelOp kernel, mlir::ModuleOp module);

} // namespace dlc::cuda
