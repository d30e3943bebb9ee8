// SPDX-License-Identifier: Apache-2.0
// Constants of a kernel that are no splats.
#pragma once

#include "compiler/dialect/Exec.h"
#include "compiler/kernel/scalar/ScalarEmitter.h"
#include "mlir/IR/BuiltinOps.h"

namespace dlc {

/// Makes each of them read-only data of `module`, in storage form, and tells
/// `e` where it lies: in `addressSpace`.
void bindTables(exec::KernelOp kernel, mlir::ModuleOp module, ScalarEmitter &e,
                unsigned addressSpace = 0);

} // namespace dlc
