// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/Pipeline.h"
#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/Exec.h"
#include "compiler/lower/Lower.h"
#include "compiler/target/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"

using namespace mlir;

namespace dlc {

/// debugOverflow disables matmul fusion so that each op can be checked.
static Wishes wishesOf(const StepOptions &options) {
  Wishes wishes = options.placement;
  if (options.debugOverflow) {
    wishes.matmul = "library";
    wishes.epilogues = "off";
  }
  return wishes;
}

std::vector<Phase> allPhases(const CompileOptions &options) {
  std::vector<Phase> phases = options.predictOnly
                                  ? predictionPhases(options.train)
                                  : trainingPhases(options.train);
  if (options.decode)
    phases.insert(
        llvm::find_if(phases,
                      [](const Phase &p) { return p.name == "attention"; }),
        {"decode", "@decode gives what @predict does for one token of a text",
         [](OpPassManager &pm) { pm.addPass(createDeriveDecode()); }});
  const auto target = makeTarget(options.train.target);
  const LoweringTraits traits = target->lowering();
  const LoweringOptions lowering{target, wishesOf(options.train)};
  const auto &nodes = options.memory.recompute;
  // What is gathered twice need not be kept in another form.
  const RecomputeOptions recompute{{nodes.begin(), nodes.end()},
                                   options.memory.budget,
                                   options.train.allReduce.gathers()};
  const bool channelsLast =
      options.layout == "auto" ? traits.channelsLast : options.layout == "nhwc";
  phases.push_back({"layout", "images are laid out as the device likes them",
                    [=](OpPassManager &pm) {
                      if (!channelsLast)
                        return;
                      pm.addNestedPass<func::FuncOp>(
                          createLayout({traits.filtersLast}));
                      pm.addPass(mlir::createCanonicalizerPass());
                    }});
  phases.push_back(
      {"decompose",
       "what has no library call is elementwise, reduce and shape ops",
       [=](OpPassManager &pm) {
         pm.addNestedPass<func::FuncOp>(createInferLimits());
         if (target->chooses("matmul-epilogue"))
           pm.addPass(with(lowering, createMatmulEpilogues()));
         pm.addPass(with(lowering, createPlace()));
         if (target->chooses("norm"))
           pm.addNestedPass<func::FuncOp>(createNormCalls());
         pm.addNestedPass<func::FuncOp>(
             createDecompose({options.train.allReduce.scatters()}));
         pm.addNestedPass<func::FuncOp>(
             createSplitReductions({traits.fewOutputs}));
         pm.addPass(mlir::createCanonicalizerPass());
         pm.addPass(createCSEPass());
       }});
  const FuseOptions fuse{options.train.debugOverflow, traits.repeatsCheapOps};
  phases.push_back(
      {"fuse", "ops that share loops are one kernel", [=](OpPassManager &pm) {
         pm.addNestedPass<func::FuncOp>(createFuse(fuse));
         pm.addNestedPass<func::FuncOp>(createGenerateOps());
         if (target->chooses("matmul"))
           pm.addPass(with(lowering, createFuseMatmul()));
         if (traits.storesSummed && !fuse.apart)
           pm.addNestedPass<func::FuncOp>(createStoreSummed());
         // With gathers, not all parameters are there at the beginning.
         if (traits.joinsCasts && !fuse.apart &&
             !options.train.allReduce.gathers())
           pm.addNestedPass<func::FuncOp>(
               createJoinCasts({!options.train.allReduce.shards()}));
       }});
  phases.push_back({"recompute",
                    "what is not to be kept is computed again where it is read",
                    [recompute](OpPassManager &pm) {
                      if (!recompute.nodes.empty() || recompute.budget ||
                          recompute.parameters)
                        pm.addPass(createRecompute(recompute));
                    }});
  const bool shards = options.train.allReduce.shards(),
             scatters = options.train.allReduce.scatters(),
             gathers = options.train.allReduce.gathers();
  const GatherParametersOptions gather{options.train.allReduce.zeroPrefetch,
                                       options.train.allReduce.zeroWholeBytes};
  phases.push_back({"plan",
                    "every step is commands on buffers at fixed places; "
                    "kernels are scheduled",
                    [=](OpPassManager &pm) {
                      pm.addPass(createPlanMemory({scatters}));
                      pm.addPass(createMergeLaunches({scatters, gathers}));
                      pm.addPass(createScheduleKernels());
                      if (shards)
                        pm.addPass(createShardUpdates({scatters}));
                      if (gathers)
                        pm.addPass(createGatherParameters(gather));
                      if (scatters)
                        pm.addPass(createScatterGradients({gathers ? 3 : 2}));
                      pm.addPass(with(lowering, createMapThreads()));
                    }});
  return phases;
}

void registerEverything(DialectRegistry &registry) {
  registry.insert<ir::DlcDialect, exec::ExecDialect, func::FuncDialect>();
  registerGradients(registry);
  registerDecompositions(registry);
}

} // namespace dlc
