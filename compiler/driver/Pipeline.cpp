#include "compiler/driver/Pipeline.h"
#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/Exec.h"
#include "compiler/lower/AttentionKernel.h"
#include "compiler/lower/Decompositions.h"
#include "compiler/lower/FuseMatmul.h"
#include "compiler/lower/Lower.h"
#include "compiler/lower/MatmulEpilogues.h"
#include "compiler/lower/PlaceNorms.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"

using namespace mlir;

namespace dlc {

std::vector<Phase> allPhases(const CompileOptions &options) {
  StepOptions train = options.train;
  train.attention.available =
      options.target == "cuda" && options.train.amp.enabled();
  std::vector<Phase> phases = trainingPhases(train);
  const MemoryOptions &memory = options.memory;
  const bool channelsLast = options.layout != "nchw";
  phases.push_back({"layout", "images are laid out as the device likes them",
                    [=](OpPassManager &pm) {
                      if (!channelsLast)
                        return;
                      pm.addNestedPass<func::FuncOp>(createLayout());
                      pm.addPass(mlir::createCanonicalizerPass());
                    }});
  const bool isGpu = options.target == "cuda";
  const bool callsNorms = isGpu && options.cuda.norm == "library";
  const int64_t few = isGpu ? kFewOutputsOfGpu : kFewOutputs;
  const bool generates = isGpu && !options.train.debugOverflow;
  const std::string products = generates ? options.cuda.matmul : "library";
  const bool hasEpilogues =
      generates && products != "generated" && options.cuda.epilogues != "off";
  phases.push_back(
      {"decompose",
       "what has no library call is elementwise, reduce and shape ops",
       [=](OpPassManager &pm) {
         pm.addNestedPass<func::FuncOp>(createInferLimits());
         if (hasEpilogues)
           pm.addNestedPass<func::FuncOp>(createMatmulEpilogues(
               products == "library", options.cuda.epilogues == "all"));
         if (callsNorms)
           pm.addNestedPass<func::FuncOp>(createPlaceNorms());
         pm.addNestedPass<func::FuncOp>(createDecompose(isGpu));
         pm.addNestedPass<func::FuncOp>(createSplitReductions(few));
         pm.addPass(mlir::createCanonicalizerPass());
         pm.addPass(createCSEPass());
       }});
  const FuseOptions fuse{options.train.debugOverflow, isGpu};
  phases.push_back({"fuse", "ops that share loops are one kernel",
                    [fuse, products](OpPassManager &pm) {
                      pm.addNestedPass<func::FuncOp>(createFuse(fuse));
                      pm.addNestedPass<func::FuncOp>(createGenerateAttention());
                      if (products != "library")
                        pm.addNestedPass<func::FuncOp>(
                            createFuseMatmul(products == "generated"));
                    }});
  phases.push_back({"recompute",
                    "what is not to be kept is computed again where it is read",
                    [memory](OpPassManager &pm) {
                      if (!memory.recompute.empty() || memory.budget)
                        pm.addPass(createRecompute(memory));
                    }});
  phases.push_back({"plan", "every step is commands on buffers at fixed places",
                    [](OpPassManager &pm) {
                      pm.addPass(createPlanMemory());
                      pm.addPass(createMergeLaunches());
                    }});
  return phases;
}

void registerEverything(DialectRegistry &registry) {
  registry.insert<ir::DlcDialect, exec::ExecDialect, func::FuncDialect>();
  registerGradients(registry);
  registerDecompositions(registry);
}

} // namespace dlc
