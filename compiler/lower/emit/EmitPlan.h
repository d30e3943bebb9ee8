// SPDX-License-Identifier: Apache-2.0
// Converts exec programs to the plan that a device executes.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "runtime/plan/plan.pb.h"

namespace dlc {

/// Fills regions, states and programs; the caller adds target, world size and
/// other fields. The order of all entries is that of the module, so equal
/// modules give equal bytes. Fails, with a diagnostic, on an attribute or
/// element type that a plan cannot represent.
llvm::LogicalResult emitPlan(mlir::ModuleOp module, plan::Plan &plan);

/// A tensor's element type in the plan; DTYPE_INVALID if it has none.
plan::DType planTypeOf(mlir::Type element);

} // namespace dlc
