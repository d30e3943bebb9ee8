// SPDX-License-Identifier: Apache-2.0
// Lowers emitted loops to LLVM IR.
#pragma once

#include "compiler/target/cpu/codegen/CpuTarget.h"
#include "mlir/IR/BuiltinOps.h"
#include <memory>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace dlc {

/// Loads the dialects and translations for emitting and lowering, so that
/// threads can work on separate modules afterwards.
void loadLoweringDialects(mlir::MLIRContext &context);

/// Converts functions of scf, arith and math to the llvm dialect: f32 functions
/// become polynomials that can be vectorised, others calls of libm.
llvm::LogicalResult lowerToLlvmDialect(mlir::ModuleOp module,
                                       const CpuTarget &target);

/// Null after a diagnostic. Functions have the target's features.
std::unique_ptr<llvm::Module> translateToLlvm(mlir::ModuleOp module,
                                              const CpuTarget &target,
                                              llvm::LLVMContext &context);

} // namespace dlc
