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

/// a * b + c for the sum of a product and another value, in either order; null
/// if neither operand is a product.
static Value sumOfProduct(OpBuilder &b, Location loc, Value left, Value right,
                          bool subtracts) {
  auto negated = [&](Value v, bool isNegated) {
    return isNegated ? Value(arith::NegFOp::create(b, loc, v)) : v;
  };
  if (auto product = left.getDefiningOp<arith::MulFOp>())
    return LLVM::FMulAddOp::create(b, loc, left.getType(), product.getLhs(),
                                   product.getRhs(), negated(right, subtracts));
  if (auto product = right.getDefiningOp<arith::MulFOp>())
    return LLVM::FMulAddOp::create(b, loc, left.getType(),
                                   negated(product.getLhs(), subtracts),
                                   product.getRhs(), left);
  return {};
}

/// Contracts products and sums, and changes nothing else. LLVM's own
/// contraction depends on other uses of the product, but a value that is
/// computed in two loops, or for two places, must be bitwise equal, since it
/// may be compared. Sums of reductions, which have fast-math flags, are
/// computed once.
static void fuseProducts(ModuleOp module) {
  SmallVector<Operation *> sums;
  module.walk([&](arith::ArithFastMathInterface op) {
    auto flags = op.getFastMathFlagsAttr();
    if (flags && flags.getValue() != arith::FastMathFlags::none)
      return;
    // x - x must be 0, not the rounding error of the product x.
    if (isa<arith::AddFOp, arith::SubFOp>(op) &&
        op->getOperand(0) != op->getOperand(1))
      sums.push_back(op);
    if (isa<arith::MulFOp>(op))
      op->setAttr(op.getFastMathAttrName(),
                  arith::FastMathFlagsAttr::get(
                      op.getContext(), arith::FastMathFlags::contract));
  });
  for (Operation *op : sums) {
    OpBuilder b(op);
    if (Value fused = sumOfProduct(b, op->getLoc(), op->getOperand(0),
                                   op->getOperand(1), isa<arith::SubFOp>(op))) {
      op->getResult(0).replaceAllUsesWith(fused);
      op->erase();
    }
  }
}

static LogicalResult
approximate(ModuleOp module, bool nativeBf16,
            llvm::function_ref<void(RewritePatternSet &)> addNative) {
  RewritePatternSet patterns(module.getContext());
  populateMathAlgebraicSimplificationPatterns(patterns);
  populateApproximations(patterns);
  if (addNative)
    addNative(patterns);
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
  // LLVM has instructions or exact expansions for every type.
  legal.addLegalOp<math::SqrtOp, math::AbsFOp, math::AbsIOp, math::FloorOp,
                   math::CeilOp, math::RoundEvenOp, math::FmaOp,
                   math::CopySignOp, math::IsNaNOp, math::IsInfOp,
                   math::IsFiniteOp>();
  return applyFullConversion(module, legal, std::move(patterns));
}

LogicalResult
expandMath(ModuleOp module, bool nativeBf16,
           llvm::function_ref<void(RewritePatternSet &)> addNative) {
  if (failed(approximate(module, nativeBf16, addNative)))
    return module.emitError("expanding math functions did not converge");
  fuseProducts(module);
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
