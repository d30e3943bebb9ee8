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

LogicalResult lowerToLlvmDialect(ModuleOp module, const CpuTarget &target) {
  if (failed(expandMath(module,
                        target.has("avx512bf16") && target.has("avx512vl"))))
    return failure();
  return convertToLlvm(module);
}

/// scf.for's annotation lands on the branch of the loop's header; LLVM wants it
/// on the branch back.
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
