// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/codegen/Compile.h"
#include "compiler/kernel/scalar/Optimize.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/Internalize.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

namespace dlc::cuda {

/// Iterations whose loads a thread issues together.
constexpr unsigned kUnroll = 4;

static std::string calledOfLibdevice(const llvm::Module &module) {
  for (const llvm::Function &f : module)
    if (f.isDeclaration() && f.getName().starts_with("__nv_"))
      return f.getName().str();
  return "";
}

llvm::LogicalResult linkLibdevice(llvm::Module &module,
                                  llvm::StringRef libdevice, std::string &why) {
  std::string called = calledOfLibdevice(module);
  if (called.empty())
    return llvm::success();
  auto fail = [&](const llvm::Twine &reason) {
    why = ("the kernels call " + called + " of libdevice: " + reason).str();
    return llvm::failure();
  };
  if (libdevice.empty())
    return fail("the CUDA Toolkit has no nvvm/libdevice/libdevice.10.bc; "
                "install all of it or the Python package nvidia-nvvm");
  auto buffer = llvm::MemoryBuffer::getFile(libdevice);
  if (!buffer)
    return fail("cannot read '" + libdevice +
                "': " + buffer.getError().message());
  auto library = llvm::parseBitcodeFile(**buffer, module.getContext());
  if (!library) {
    llvm::consumeError(library.takeError());
    return fail("'" + libdevice + "' is no LLVM bitcode");
  }
  (*library)->setTargetTriple(module.getTargetTriple());
  (*library)->setDataLayout(module.getDataLayout());
  bool failed = llvm::Linker::linkModules(
      module, std::move(*library), llvm::Linker::LinkOnlyNeeded,
      [](llvm::Module &m, const llvm::StringSet<> &names) {
        llvm::internalizeModule(m, [&](const llvm::GlobalValue &v) {
          return !v.hasName() || !names.contains(v.getName());
        });
      });
  if (failed)
    return fail("it cannot be linked");
  called = calledOfLibdevice(module);
  return called.empty() ? llvm::success()
                        : fail("'" + libdevice + "' has no such function");
}

/// Whether threads synchronise in it, so copies of its body cannot overlap.
static bool isConvergent(const llvm::Loop &loop) {
  for (llvm::BasicBlock *block : loop.blocks())
    for (llvm::Instruction &i : *block)
      if (auto *call = llvm::dyn_cast<llvm::CallInst>(&i);
          call && call->isConvergent())
        return true;
  return false;
}

/// Whether stores may change what the next iteration loads, so that copies of
/// the body cannot overlap, but use registers.
static bool storesWhereItLoads(const llvm::Loop &loop) {
  bool loads = false, stores = false;
  for (llvm::BasicBlock *block : loop.blocks())
    for (llvm::Instruction &i : *block) {
      loads |= llvm::isa<llvm::LoadInst>(i);
      stores |= llvm::isa<llvm::StoreInst>(i);
    }
  return loads && stores;
}

/// Whether the trip count is known in advance: then loads of unrolled
/// iterations can be issued together.
static bool counts(const llvm::Loop &loop) {
  llvm::BasicBlock *latch = loop.getLoopLatch();
  return latch &&
         llvm::any_of(loop.getHeader()->phis(), [&](const llvm::PHINode &i) {
           auto *next = llvm::dyn_cast<llvm::BinaryOperator>(
               i.getIncomingValueForBlock(latch));
           return next && next->getOpcode() == llvm::Instruction::Add &&
                  next->getOperand(0) == &i;
         });
}

static void hintLoops(llvm::Module &module) {
  for (llvm::Function &f : module) {
    if (f.isDeclaration())
      continue;
    llvm::DominatorTree dominators(f);
    llvm::LoopInfo loops(dominators);
    for (llvm::Loop *loop : loops.getLoopsInPreorder())
      if (loop->isInnermost() && !isConvergent(*loop))
        llvm::addStringMetadataToLoop(
            loop, "llvm.loop.unroll.count",
            storesWhereItLoads(*loop) || !counts(*loop) ? 1 : kUnroll);
  }
}

void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
  // Subnormals are preserved, as on the CPU.
  module.addModuleFlag(llvm::Module::Override, "nvvm-reflect-ftz", 0u);
  hintLoops(module);
  runPipeline(module, machine, llvm::OptimizationLevel::O3);
}

std::string toPtx(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::SmallVector<char, 0> text;
  llvm::raw_svector_ostream os(text);
  llvm::legacy::PassManager passes;
  machine.addPassesToEmitFile(passes, os, nullptr,
                              llvm::CodeGenFileType::AssemblyFile,
                              /*DisableVerify=*/true);
  passes.run(module);
  return std::string(text.begin(), text.end());
}

} // namespace dlc::cuda
