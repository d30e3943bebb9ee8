// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cpu/codegen/Lowering.h"
#include "compiler/kernel/scalar/MathLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Module.h"

using namespace mlir;

namespace dlc {

void loadLoweringDialects(MLIRContext &context) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context.appendDialectRegistry(registry);
  context.loadDialect<LLVM::LLVMDialect, scf::SCFDialect, arith::ArithDialect,
                      math::MathDialect, cf::ControlFlowDialect,
                      func::FuncDialect>();
}

/// A bf16 is the upper half of an f32. LLVM's own conversion generates the same
/// code, but its cost model for more than four elements assumes that many
/// calls.
static void widenAsIntegers(ModuleOp module) {
  module.walk([](arith::ExtFOp op) {
    if (!op.getIn().getType().isBF16() || !op.getType().isF32())
      return;
    OpBuilder b(op);
    const Location loc = op.getLoc();
    Value bits = arith::BitcastOp::create(b, loc, b.getI16Type(), op.getIn());
    Value wide = arith::ExtUIOp::create(b, loc, b.getI32Type(), bits);
    Value upper = arith::ShLIOp::create(
        b, loc, wide,
        arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(16)));
    op.replaceAllUsesWith(
        arith::BitcastOp::create(b, loc, op.getType(), upper).getResult());
    op.erase();
  });
}

LogicalResult lowerToLlvmDialect(ModuleOp module, const CpuTarget &target) {
  if (target.roundsToBf16())
    widenAsIntegers(module);
  if (failed(expandMath(module, target.roundsToBf16())))
    return failure();
  return convertToLlvm(module);
}

/// MLIR puts scf.for's annotation on the branch in the loop's header; LLVM
/// expects it on the back edge.
static void moveLoopMetadata(llvm::Function &f) {
  llvm::DominatorTree dominators(f);
  llvm::LoopInfo loops(dominators);
  for (llvm::Loop *loop : loops.getLoopsInPreorder()) {
    llvm::Instruction *branch = loop->getHeader()->getTerminator();
    if (llvm::MDNode *id = branch->getMetadata(llvm::LLVMContext::MD_loop)) {
      branch->setMetadata(llvm::LLVMContext::MD_loop, nullptr);
      loop->setLoopID(id);
    }
  }
}

std::unique_ptr<llvm::Module> translateToLlvm(ModuleOp module,
                                              const CpuTarget &target,
                                              llvm::LLVMContext &context) {
  auto llvmModule = translateModuleToLLVMIR(module, context, "kernels");
  if (!llvmModule)
    return nullptr;
  std::string features;
  for (const std::string &f : target.features)
    features += (features.empty() ? "+" : ",+") + f;
  for (llvm::Function &f : *llvmModule) {
    if (f.isDeclaration())
      continue;
    f.addFnAttr("target-cpu",
                llvmModule->getTargetTriple().isX86() ? "x86-64" : "generic");
    f.addFnAttr("tune-cpu", target.cpu);
    f.addFnAttr("target-features", features);
    if (target.has("avx512vl"))
      f.addFnAttr("prefer-vector-width", "512");
    moveLoopMetadata(f);
  }
  return llvmModule;
}

} // namespace dlc
