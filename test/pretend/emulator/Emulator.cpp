// SPDX-License-Identifier: Apache-2.0
#include "Emulator.h"
#include "Grid.h"
#include "Retarget.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

namespace dlc::test {
namespace {

void onFault(int) {
  auto say = [](const char *text) {
    [[maybe_unused]] auto n = write(2, text, std::strlen(text));
  };
  say(*runningKernel() ? "kernel " : "the CPU's kernel");
  say(runningKernel());
  say(" accesses memory beyond its arrays, or misaligned\n");
  _exit(1);
}

std::string text(llvm::Error error) { return llvm::toString(std::move(error)); }

} // namespace

//===--- Emulator ---------------------------------------------------------===//

Emulator::Emulator(std::unique_ptr<llvm::LLVMContext> context,
                   std::unique_ptr<llvm::Module> module, std::string &error) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto made = llvm::orc::LLJITBuilder().create();
  if (!made) {
    error = text(made.takeError());
    return;
  }
  jit = std::move(*made);
  retarget(*module, jit->getTargetTriple(), jit->getDataLayout());
  for (llvm::GlobalVariable &v : module->globals())
    if (isShared(v))
      shared.push_back(
          {v.getName().str(),
           module->getDataLayout().getTypeAllocSize(v.getValueType())});
  for (llvm::Function &f : module->functions())
    if (f.isDeclaration() && !f.isIntrinsic() &&
        !dlsym(RTLD_DEFAULT, f.getName().str().c_str())) {
      error = "cannot emulate " + f.getName().str();
      return;
    }
  if (auto process =
          llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
              jit->getDataLayout().getGlobalPrefix()))
    jit->getMainJITDylib().addGenerator(std::move(*process));
  if (auto e = jit->addIRModule(
          llvm::orc::ThreadSafeModule(std::move(module), std::move(context))))
    error = text(std::move(e));
  std::signal(SIGSEGV, onFault);
  std::signal(SIGBUS, onFault);
}

Emulator::~Emulator() = default;

std::string Emulator::run(const std::string &kernel, int64_t grid,
                          int64_t block, const std::vector<void *> &arguments,
                          Order order, unsigned seed) {
  auto entry = jit->lookup(kEntryPrefix + kernel);
  if (!entry)
    return text(entry.takeError());
  auto call = entry->toPtr<void (*)(void *const *)>();
  std::vector<SharedArray> poisoned;
  for (const Shared &s : shared)
    if (s.name.starts_with(kernel + ".shared")) {
      auto address = jit->lookup(s.name);
      if (!address)
        return text(address.takeError());
      poisoned.push_back({address->toPtr<void *>(), s.bytes});
    }
  return runGrid(kernel, grid, block, poisoned, order, seed,
                 [&] { call(arguments.data()); });
}

} // namespace dlc::test
