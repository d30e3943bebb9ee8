// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/scalar/MathLowering.h"
#include "compiler/kernel/scalar/Approximations.h"
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
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace dlc {

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

static LogicalResult approximate(ModuleOp module, bool nativeBf16) {
  RewritePatternSet patterns(module.getContext());
  populateMathAlgebraicSimplificationPatterns(patterns);
  populateApproximations(patterns);
  if (!nativeBf16)
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
  legal.addLegalDialect("nvvm");
  legal.addIllegalDialect<math::MathDialect>();
  // Instructions or exact expansions that LLVM has for every type.
  legal.addLegalOp<math::SqrtOp, math::AbsFOp, math::AbsIOp, math::FloorOp,
                   math::CeilOp, math::RoundEvenOp, math::FmaOp,
                   math::CopySignOp, math::IsNaNOp, math::IsInfOp,
                   math::IsFiniteOp>();
  return applyFullConversion(module, legal, std::move(patterns));
}

LogicalResult expandMath(ModuleOp module, bool nativeBf16) {
  if (failed(approximate(module, nativeBf16)))
    return module.emitError("expanding math functions did not converge");
  allowContraction(module);
  return callLibm(module);
}

LogicalResult convertToLlvm(ModuleOp module) {
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
  legal.addLegalDialect("nvvm");
  if (failed(applyFullConversion(module, legal, std::move(patterns))))
    return failure();
  return verify(module);
}

} // namespace dlc
