// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cpu/codegen/Compile.h"
#include "compiler/kernel/scalar/Optimize.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

namespace dlc {

void optimize(llvm::Module &module, llvm::TargetMachine &machine,
              unsigned optLevel) {
  using Level = llvm::OptimizationLevel;
  static const Level levels[] = {Level::O0, Level::O1, Level::O2, Level::O3};
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = optLevel > 0;
  tuning.SLPVectorization = optLevel > 1;
  // If short loops were unrolled before vectorisation, LLVM would vectorise
  // across them. Loops that should be unrolled are marked.
  tuning.LoopUnrolling = false;
  runPipeline(module, machine, levels[std::min(optLevel, 3u)], tuning);
}

bool compileToObject(llvm::Module &module, llvm::TargetMachine &machine,
                     ObjectBytes &object) {
  llvm::raw_svector_ostream os(object);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, os, nullptr,
                                  llvm::CodeGenFileType::ObjectFile,
                                  /*DisableVerify=*/true))
    return false;
  passes.run(module);
  return true;
}

} // namespace dlc
