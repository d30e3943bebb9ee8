// SPDX-License-Identifier: Apache-2.0
#include "test/gpu/Ops.h"
#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/Exec.h"
#include "compiler/lower/Lower.h"
#include "compiler/target/Target.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Gradients.h"
#include "passes/Passes.h"
#include "test/ops/Case.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace dlc::test {
namespace {

/// Results' types follow from operands once more: what an op computes in f32
/// whatever its operands are stays that.
void inferResults(func::FuncOp f) {
  f.walk([](InferTypeOpInterface op) {
    SmallVector<Type> types;
    if (succeeded(op.inferReturnTypes(
            op->getContext(), op->getLoc(), op->getOperands(),
            op->getDiscardableAttrDictionary(), op->getPropertiesStorage(),
            op->getRegions(), types)))
      for (auto [result, type] : llvm::zip_equal(op->getResults(), types))
        result.setType(type);
  });
  f.setFunctionType(
      FunctionType::get(f.getContext(), f.getArgumentTypes(),
                        f.front().getTerminator()->getOperandTypes()));
}

/// The function with another type of elements for f64; null if that is not
/// valid. Numbers among attributes stay f64.
OwningOpRef<ModuleOp> retyped(func::FuncOp f, Type element) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](RankedTensorType type) -> std::optional<Type> {
    if (type.getElementType().isF64())
      return type.clone(element);
    return std::nullopt;
  });
  replacer.addReplacement(
      [&](DenseFPElementsAttr values) -> std::optional<Attribute> {
        const auto &semantics = cast<FloatType>(element).getFloatSemantics();
        return values.mapValues(element, [&](const APFloat &value) {
          APFloat rounded = value;
          bool losesInfo = false;
          rounded.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
          return rounded.bitcastToAPInt();
        });
      });
  OwningOpRef<ModuleOp> module = ModuleOp::create(f.getLoc());
  auto clone = f.clone();
  module->push_back(clone);
  replacer.recursivelyReplaceElementsIn(clone, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
  inferResults(clone);
  return succeeded(verify(*module)) ? std::move(module) : nullptr;
}

OwningOpRef<ModuleOp> fusedStep(func::FuncOp f) {
  OwningOpRef<ModuleOp> module = reference::Case(f).trainStep();
  PassManager pm(f.getContext());
  pm.addPass(createAutodiff());
  const auto target = makeTarget({.name = "cuda"});
  const LoweringTraits gpu = target->lowering();
  Wishes wishes;
  wishes.attention = "off";
  pm.addPass(with(LoweringOptions{target, wishes}, createPlace()));
  pm.addNestedPass<func::FuncOp>(createDecompose());
  pm.addNestedPass<func::FuncOp>(createSplitReductions({gpu.fewOutputs}));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addNestedPass<func::FuncOp>(createFuse({.repeat = gpu.repeatsCheapOps}));
  return succeeded(pm.run(*module)) ? std::move(module) : nullptr;
}

} // namespace

void registerOps(DialectRegistry &registry) {
  registry.insert<ir::DlcDialect, exec::ExecDialect, func::FuncDialect>();
  registerGradients(registry);
  registerDecompositions(registry);
}

OpsModule opsModule(const std::string &path, const std::string &type,
                    MLIRContext &context) {
  OpsModule result;
  auto file = parseSourceFile<ModuleOp>(path, &context);
  if (!file)
    return result;
  result.kernels = ModuleOp::create(file->getLoc());
  OpBuilder b = OpBuilder::atBlockEnd(result.kernels->getBody());
  const Type element = parseType(type, &context);
  // The caller says which functions could not be taken, and why.
  std::string why;
  ScopedDiagnosticHandler keep(&context, [&](Diagnostic &diagnostic) {
    if (why.empty())
      why = diagnostic.str();
    return success();
  });
  for (auto f : file->getOps<func::FuncOp>()) {
    if (f->hasAttr("dlc.f64_only"))
      continue;
    why.clear();
    auto one = retyped(f, element);
    auto step = one ? fusedStep(*one->getOps<func::FuncOp>().begin()) : nullptr;
    if (!step) {
      result.leftOut.push_back(f.getSymName().str() + " (" + why + ")");
      continue;
    }
    int count = 0;
    step->walk([&](ir::FusedOp fused) {
      auto kernel = exec::KernelOp::create(b, fused.getLoc(),
                                           f.getSymName().str() + "_" +
                                               std::to_string(count++));
      IRMapping map;
      fused.getBody().cloneInto(&kernel.getBody(), map);
    });
  }
  return result;
}

} // namespace dlc::test
