// SPDX-License-Identifier: Apache-2.0
// Constants of a kernel that are not splats.
#pragma once

#include "compiler/dialect/Exec.h"
#include "compiler/kernel/scalar/ScalarEmitter.h"
#include "mlir/IR/BuiltinOps.h"

namespace dlc {

/// Adds each such constant to `module` as read-only data in storage form, in
/// `addressSpace`, and passes its address to `e`.
void bindTables(exec::KernelOp kernel, mlir::ModuleOp module, ScalarEmitter &e,
                unsigned addressSpace = 0);

} // namespace dlc
