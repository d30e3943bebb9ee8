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
#include <sys/mman.h>
#include <unistd.h>

namespace dlc::test {
namespace {

constexpr size_t kPage = 4096;
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

//===--- Guarded ----------------------------------------------------------===//

/// The array ends at a page that cannot be accessed; before it lie less than 16
/// bytes, then such a page, too.
Guarded::Guarded(const void *content, size_t bytes) : bytes(bytes) {
  size_t room = (bytes + 15) / 16 * 16, pages = (room + kPage - 1) / kPage;
  mapped = (pages + 2) * kPage;
  mapping = static_cast<char *>(
      mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (mapping == MAP_FAILED ||
      (pages &&
       mprotect(mapping + kPage, pages * kPage, PROT_READ | PROT_WRITE)))
    std::abort();
  if (pages)
    std::memset(mapping + kPage, 0xff, pages * kPage);
  begin = reinterpret_cast<uint8_t *>(mapping + (pages + 1) * kPage - room);
  if (!bytes)
    return;
  content ? (void)std::memcpy(begin, content, bytes)
          : (void)std::memset(begin, 0xaa, bytes);
}
Guarded::Guarded(Guarded &&o) noexcept
    : mapping(o.mapping), mapped(o.mapped), bytes(o.bytes), begin(o.begin) {
  o.mapping = nullptr;
}
Guarded &Guarded::operator=(Guarded &&o) noexcept {
  std::swap(mapping, o.mapping);
  std::swap(mapped, o.mapped);
  std::swap(bytes, o.bytes);
  std::swap(begin, o.begin);
  return *this;
}
Guarded::~Guarded() {
  if (mapping)
    munmap(mapping, mapped);
}

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
