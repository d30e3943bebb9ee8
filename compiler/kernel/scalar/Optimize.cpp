// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/scalar/Optimize.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace dlc {

void runPipeline(llvm::Module &module, llvm::TargetMachine &machine,
                 llvm::OptimizationLevel level,
                 const llvm::PipelineTuningOptions &tuning) {
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  auto passes = level == llvm::OptimizationLevel::O0
                    ? builder.buildO0DefaultPipeline(level)
                    : builder.buildPerModuleDefaultPipeline(level);
  passes.run(module, modules);
}

} // namespace dlc
