// SPDX-License-Identifier: Apache-2.0
// From emitted loops to LLVM IR.
#pragma once

#include "compiler/target/cpu/codegen/CpuTarget.h"
#include "mlir/IR/BuiltinOps.h"
#include <memory>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace dlc {

/// Loads the dialects and translations that emitting and lowering need, so that
/// threads may then work on modules of their own.
void loadLoweringDialects(mlir::MLIRContext &context);

/// Rewrites functions of scf, arith and math into the llvm dialect: f32
/// functions become polynomials that vectorize, other ones calls into libm.
llvm::LogicalResult lowerToLlvmDialect(mlir::ModuleOp module,
                                       const CpuTarget &target);

/// Null after a diagnostic. Functions carry the target's features.
std::unique_ptr<llvm::Module> translateToLlvm(mlir::ModuleOp module,
                                              const CpuTarget &target,
                                              llvm::LLVMContext &context);

} // namespace dlc
