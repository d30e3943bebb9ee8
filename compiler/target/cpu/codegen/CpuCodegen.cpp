// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cpu/codegen/CpuCodegen.h"
#include "compiler/target/cpu/codegen/Compile.h"
#include "compiler/target/cpu/codegen/KernelEmitter.h"
#include "compiler/target/cpu/codegen/Lowering.h"
#include "compiler/target/cpu/codegen/ObjectCache.h"
#include "runtime/base/process/Parallel.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include <atomic>
#include <mutex>

using namespace mlir;

namespace dlc {
namespace {

/// Ops per LLVM module: balances threads and amortises setup.
constexpr size_t kModuleOps = 64;

/// Kernels that are compiled together, and the result.
struct Part {
  std::vector<exec::KernelOp> kernels;
  ObjectBytes object;
  std::string llvmText;
  bool failed = false, isStored = false;
};

/// Ignores LLVM's reports on hints that it could not follow.
void ignoreRemarks(llvm::LLVMContext &context) {
  context.setDiagnosticHandlerCallBack(
      [](const llvm::DiagnosticInfo *info, void *) {
        if (info->getSeverity() != llvm::DS_Error)
          return;
        llvm::DiagnosticPrinterRawOStream printer(llvm::errs());
        info->print(printer);
      });
}

class Compiler {
public:
  Compiler(ModuleOp module, const CpuTarget &target,
           const CpuCodegenOptions &options)
      : module(module), target(target), options(options) {}

  LogicalResult run(llvm::SmallVectorImpl<char> &sharedObject) {
    loadLoweringDialects(*module.getContext());
    if (!createTargetMachine(target, options.optLevel))
      return module.emitError(
          "no code generator for this machine's architecture");
    split();
    compileAll();
    std::vector<ObjectBytes> objects;
    for (Part &part : parts) {
      if (part.failed)
        return failure();
      if (options.dumpLlvm)
        options.dumpLlvm(part.llvmText);
      objects.push_back(std::move(part.object));
    }
    if (llvm::any_of(parts, [](const Part &part) { return part.isStored; }))
      ObjectCache::prune(options.cacheDir, options.cacheBytes);
    std::string why;
    if (failed(linkSharedObject(objects, sharedObject, why)))
      return module.emitError("cannot link the kernels: ") << why;
    return success();
  }

private:
  void split() {
    size_t ops = kModuleOps;
    module.walk([&](exec::KernelOp kernel) {
      if (ops >= kModuleOps) {
        parts.emplace_back();
        ops = 0;
      }
      ops += kernel.getBody().front().getOperations().size();
      parts.back().kernels.push_back(kernel);
    });
    if (parts.empty())
      parts.emplace_back();
  }

  void compileAll() {
    std::atomic<size_t> next = 0;
    auto work = [&] {
      for (size_t i; (i = next++) < parts.size();)
        parts[i].failed = failed(compile(parts[i]));
    };
    unsigned jobs = options.jobs ? options.jobs : coresOfProcess();
    runTogether(std::clamp<size_t>(jobs, 1, parts.size()), work);
  }

  LogicalResult compile(Part &part) {
    llvm::LLVMContext context;
    ignoreRemarks(context);
    std::unique_ptr<llvm::Module> code = lower(part, context);
    if (!code)
      return failure();
    auto machine = createTargetMachine(target, options.optLevel);
    code->setTargetTriple(machine->getTargetTriple());
    code->setDataLayout(machine->createDataLayout());
    ObjectCache cache(options.cacheDir, *code, target, options.optLevel);
    if (!options.dumpLlvm && cache.find(part.object))
      return success();
    optimize(*code, *machine, options.optLevel);
    if (options.dumpLlvm)
      llvm::raw_string_ostream(part.llvmText) << *code;
    if (!compileToObject(*code, *machine, part.object))
      return module.emitError("the machine cannot write objects");
    cache.store(part.object);
    part.isStored = !options.cacheDir.empty();
    return success();
  }

  std::unique_ptr<llvm::Module> lower(Part &part, llvm::LLVMContext &context) {
    // Without multithreading a context has no locks, so threads take turns.
    std::unique_lock lock(mlirMutex, std::defer_lock);
    if (!module.getContext()->isMultithreadingEnabled())
      lock.lock();
    OwningOpRef<ModuleOp> work(ModuleOp::create(module.getLoc()));
    for (exec::KernelOp kernel : part.kernels)
      if (failed(emitKernel(kernel, *work, target)))
        return nullptr;
    if (failed(lowerToLlvmDialect(*work, target)))
      return nullptr;
    return translateToLlvm(*work, target, context);
  }

  ModuleOp module;
  const CpuTarget &target;
  const CpuCodegenOptions &options;
  std::vector<Part> parts;
  std::mutex mlirMutex;
};

} // namespace

LogicalResult compileKernels(ModuleOp module, const CpuTarget &target,
                             const CpuCodegenOptions &options,
                             llvm::SmallVectorImpl<char> &sharedObject) {
  return Compiler(module, target, options).run(sharedObject);
}

} // namespace dlc
