// SPDX-License-Identifier: Apache-2.0
// From scalars of arith and math to the llvm dialect, the same for every
// device.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"

namespace dlc {

/// f32 functions become polynomials, all other ones declarations of libm's
/// names and calls; products and sums may fuse. Without `nativeBf16`
/// conversions to bf16 become integer arithmetic. `addNative` adds patterns for
/// what the device has instructions for, with a benefit above 1.
llvm::LogicalResult expandMath(
    mlir::ModuleOp module, bool nativeBf16,
    llvm::function_ref<void(mlir::RewritePatternSet &)> addNative = nullptr);

/// The functions and loops of a module without math ops, in the llvm dialect.
/// What is in that dialect or in one of the target stays.
llvm::LogicalResult convertToLlvm(mlir::ModuleOp module);

} // namespace dlc
