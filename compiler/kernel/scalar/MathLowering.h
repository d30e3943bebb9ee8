// SPDX-License-Identifier: Apache-2.0
// Lowers scalars of arith and math to the llvm dialect, shared by all devices.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"

namespace dlc {

/// Expands f32 functions to polynomials, and other functions to calls of libm
/// by name; multiplications and additions may be contracted. If `nativeBf16` is
/// false, conversions to bf16 become integer arithmetic. `addNative` adds
/// patterns for functions that have an instruction on the device, with a
/// benefit above 1.
llvm::LogicalResult expandMath(
    mlir::ModuleOp module, bool nativeBf16,
    llvm::function_ref<void(mlir::RewritePatternSet &)> addNative = nullptr);

/// Converts the functions and loops of a module without math ops to the llvm
/// dialect. Ops already in that dialect or a target's dialect are kept.
llvm::LogicalResult convertToLlvm(mlir::ModuleOp module);

} // namespace dlc
