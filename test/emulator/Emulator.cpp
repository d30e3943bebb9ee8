#include "Emulator.h"
#include "Retarget.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"
#include <algorithm>
#include <bit>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <random>
#include <sys/mman.h>
#include <unistd.h>

namespace dlc::test {
namespace {

constexpr size_t kPage = 4096;
const char *kernelName = "";
uint32_t blockNumber, blockCount;

//===--- what kernels call ------------------------------------------------===//

uint32_t threadId() { return Fibers::current().thread(); }
uint32_t blockSize() { return Fibers::current().count(); }
uint32_t blockId() { return blockNumber; }
uint32_t gridSize() { return blockCount; }
void barrier(uint32_t) { Fibers::current().barrier(); }
template <WarpOp op>
uint32_t shuffle(uint32_t members, uint32_t v, uint32_t a, uint32_t b) {
  return Fibers::current().warp(op, members, v, a, b);
}
template <WarpOp op>
float shuffleFloat(uint32_t members, float v, uint32_t a, uint32_t b) {
  return std::bit_cast<float>(
      shuffle<op>(members, std::bit_cast<uint32_t>(v), a, b));
}
/// Only the lowest bit of an i1 is defined.
template <WarpOp op> bool vote(uint32_t members, uint32_t v) {
  return Fibers::current().warp(op, members, v & 1, 0, 0);
}
uint32_t ballot(uint32_t members, uint32_t v) {
  return Fibers::current().warp(WarpOp::Ballot, members, v & 1, 0, 0);
}
/// The run-time library's, whose result is the low half of the register.
float toBf16(float v) {
  uint32_t bits = std::bit_cast<uint32_t>(v);
  uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return std::bit_cast<float>(v != v ? 0x7fc0u : rounded);
}
float doubleToBf16(double v) { return toBf16(static_cast<float>(v)); }

template <class F> void *pointerTo(F *f) { return reinterpret_cast<void *>(f); }

const std::map<std::string, void *> &functions() {
  using enum WarpOp;
  static const std::map<std::string, void *> all = {
      {"llvm.nvvm.read.ptx.sreg.tid.x", pointerTo(threadId)},
      {"llvm.nvvm.read.ptx.sreg.ntid.x", pointerTo(blockSize)},
      {"llvm.nvvm.read.ptx.sreg.ctaid.x", pointerTo(blockId)},
      {"llvm.nvvm.read.ptx.sreg.nctaid.x", pointerTo(gridSize)},
      {"llvm.nvvm.barrier.cta.sync.aligned.all", pointerTo(barrier)},
      {"llvm.nvvm.shfl.sync.bfly.i32", pointerTo(shuffle<ShuffleXor>)},
      {"llvm.nvvm.shfl.sync.bfly.f32", pointerTo(shuffleFloat<ShuffleXor>)},
      {"llvm.nvvm.shfl.sync.idx.i32", pointerTo(shuffle<ShuffleIdx>)},
      {"llvm.nvvm.shfl.sync.idx.f32", pointerTo(shuffleFloat<ShuffleIdx>)},
      {"llvm.nvvm.shfl.sync.up.i32", pointerTo(shuffle<ShuffleUp>)},
      {"llvm.nvvm.shfl.sync.up.f32", pointerTo(shuffleFloat<ShuffleUp>)},
      {"llvm.nvvm.shfl.sync.down.i32", pointerTo(shuffle<ShuffleDown>)},
      {"llvm.nvvm.shfl.sync.down.f32", pointerTo(shuffleFloat<ShuffleDown>)},
      {"llvm.nvvm.vote.all.sync", pointerTo(vote<All>)},
      {"llvm.nvvm.vote.any.sync", pointerTo(vote<Any>)},
      {"llvm.nvvm.vote.ballot.sync", pointerTo(ballot)},
      {"__truncsfbf2", pointerTo(toBf16)},
      {"__truncdfbf2", pointerTo(doubleToBf16)},
  };
  return all;
}

void *find(const std::string &name) {
  if (auto it = functions().find(name); it != functions().end())
    return it->second;
  // libdevice's names are libm's with a prefix.
  return name.starts_with("__nv_") ? dlsym(RTLD_DEFAULT, name.c_str() + 5)
                                   : nullptr;
}

void onFault(int) {
  auto say = [](const char *text) {
    [[maybe_unused]] auto n = write(2, text, std::strlen(text));
  };
  say(*kernelName ? "kernel " : "the CPU's kernel");
  say(kernelName);
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
  auto &library = jit->getMainJITDylib();
  auto &session = jit->getExecutionSession();
  llvm::orc::SymbolMap symbols;
  auto define = [&](const std::string &name, void *address) {
    symbols[jit->mangleAndIntern(name)] = {
        llvm::orc::ExecutorAddr::fromPtr(address),
        llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  };
  for (llvm::Function &f : module->functions()) {
    if (!f.isDeclaration() || f.isIntrinsic())
      continue;
    void *address = find(nameOfCallee(f));
    if (!address) {
      error = "cannot emulate " + nameOfCallee(f);
      return;
    }
    define(f.getName().str(), address);
  }
  for (const char *name : {"__truncsfbf2", "__truncdfbf2"})
    define(name, find(name));
  if (auto e = library.define(llvm::orc::absoluteSymbols(std::move(symbols)))) {
    error = text(std::move(e));
    return;
  }
  if (auto process =
          llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
              jit->getDataLayout().getGlobalPrefix()))
    library.addGenerator(std::move(*process));
  (void)session;
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
  std::vector<std::pair<void *, size_t>> poisoned;
  for (const Shared &s : shared)
    if (s.name.starts_with(kernel + ".shared")) {
      auto address = jit->lookup(s.name);
      if (!address)
        return text(address.takeError());
      poisoned.emplace_back(address->toPtr<void *>(), s.bytes);
    }
  kernelName = kernel.c_str();
  blockCount = static_cast<uint32_t>(grid);
  std::vector<int64_t> blocks(grid);
  for (int64_t i = 0; i < grid; ++i)
    blocks[i] = order == Order::Reverse ? grid - 1 - i : i;
  if (order == Order::Random) {
    std::mt19937 random(seed);
    std::shuffle(blocks.begin(), blocks.end(), random);
  }
  for (int64_t b : blocks) {
    blockNumber = static_cast<uint32_t>(b);
    for (auto [address, bytes] : poisoned)
      std::memset(address, 0xff, bytes);
    std::string error =
        fibers.run(block, order, seed + b, [&] { call(arguments.data()); });
    if (!error.empty())
      return "kernel " + kernel + ", block " + std::to_string(b) + ": " + error;
  }
  kernelName = "";
  return "";
}

} // namespace dlc::test
