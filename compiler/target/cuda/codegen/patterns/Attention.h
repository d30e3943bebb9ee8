// SPDX-License-Identifier: Apache-2.0
// Flash attention, forward and backward: a block handles 64 rows, scores stay
// in registers, and the order of every sum depends only on shapes.
#pragma once

#include "compiler/dialect/Exec.h"
#include "mlir/IR/BuiltinOps.h"

namespace dlc::cuda {

/// Threads of an attention kernel (compiler/kernel/AttentionKernel.h).
exec::Threads decideAttention(exec::KernelOp kernel);

/// emitKernel for an attention kernel: 16-bit floats, with head dimensions that
/// are multiples of 8 up to 128.
llvm::LogicalResult emitAttention(exec::KernelOp kernel, mlir::ModuleOp module);

} // namespace dlc::cuda
