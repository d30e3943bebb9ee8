#include "compiler/codegen/cpu/Lowering.h"
#include "compiler/codegen/cpu/Approximations.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
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

/// Products and sums may fuse; nothing else may change. (On conversions the
/// flag would drop roundings.)
static void allowContraction(ModuleOp module) {
  module.walk([](arith::ArithFastMathInterface op) {
    auto flags = op.getFastMathFlagsAttr();
    if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(op) &&
        (!flags || flags.getValue() == arith::FastMathFlags::none))
      op->setAttr(op.getFastMathAttrName(),
                  arith::FastMathFlagsAttr::get(
                      op.getContext(), arith::FastMathFlags::contract));
  });
}

static LogicalResult expandMath(ModuleOp module, const CpuTarget &target) {
  RewritePatternSet patterns(module.getContext());
  populateMathAlgebraicSimplificationPatterns(patterns);
  populateApproximations(patterns);
  if (!target.has("avx512bf16") || !target.has("avx512vl"))
    arith::populateExpandBFloat16Patterns(patterns);
  return applyPatternsGreedily(module, std::move(patterns));
}

static LogicalResult callLibm(ModuleOp module) {
  RewritePatternSet patterns(module.getContext());
  populateMathToLibmConversionPatterns(patterns);
  ConversionTarget legal(*module.getContext());
  legal.addLegalDialect<arith::ArithDialect, func::FuncDialect, scf::SCFDialect,
                        LLVM::LLVMDialect>();
  legal.addLegalOp<ModuleOp>();
  legal.addIllegalDialect<math::MathDialect>();
  // Instructions or exact expansions that LLVM has for every type.
  legal.addLegalOp<math::SqrtOp, math::AbsFOp, math::AbsIOp, math::FloorOp,
                   math::CeilOp, math::RoundEvenOp, math::FmaOp,
                   math::CopySignOp, math::IsNaNOp, math::IsInfOp,
                   math::IsFiniteOp>();
  return applyFullConversion(module, legal, std::move(patterns));
}

LogicalResult lowerToLlvmDialect(ModuleOp module, const CpuTarget &target) {
  if (failed(expandMath(module, target)))
    return module.emitError("expanding math functions did not converge");
  allowContraction(module);
  if (failed(callLibm(module)))
    return failure();
  MLIRContext *context = module.getContext();
  LLVMTypeConverter types(context);
  RewritePatternSet patterns(context);
  populateSCFToControlFlowConversionPatterns(patterns);
  cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
  arith::populateArithToLLVMConversionPatterns(types, patterns);
  populateMathToLLVMConversionPatterns(types, patterns);
  populateFuncToLLVMConversionPatterns(types, patterns);
  LLVMConversionTarget legal(*context);
  legal.addLegalOp<ModuleOp>();
  if (failed(applyFullConversion(module, legal, std::move(patterns))))
    return failure();
  return verify(module);
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
