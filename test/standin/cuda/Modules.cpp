#include "test/standin/cuda/Modules.h"
#include "test/standin/cuda/Contexts.h"
#include "test/standin/cuda/Engine.h"
#include "test/standin/cuda/Memory.h"
#include "test/standin/cuda/Trace.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <memory>
#include <regex>
#include <set>

namespace dlc::standin {
namespace {

struct HostKernel {
  KernelFunction function;
  KernelAccesses accesses;
};

std::map<std::string, HostKernel> &hostKernels() {
  static auto *kernels = new std::map<std::string, HostKernel>;
  return *kernels;
}

std::set<const Module *> &modules() {
  static auto *modules = new std::set<const Module *>;
  return *modules;
}

// .entry name( .param .u64 a, .param .align 8 .b8 b[16] ) { ...
void readPtx(const std::string &text, Module &module) {
  static const std::regex entry(R"(\.entry\s+([\w$]+)\s*\(([^)]*)\))");
  static const std::regex parameter(
      R"(\.param(?:\s+\.align\s+\d+)?\s+\.[a-z]+(\d+)[^,\[]*(?:\[(\d+)\])?)");
  using Iterator = std::sregex_iterator;
  for (Iterator it(text.begin(), text.end(), entry), end; it != end; ++it) {
    Function function{(*it)[1], {}};
    const std::string list = (*it)[2];
    for (Iterator p(list.begin(), list.end(), parameter); p != end; ++p)
      function.parameters.push_back(
          std::stoul((*p)[1]) / 8 *
          ((*p)[2].matched ? std::stoul((*p)[2]) : 1));
    module.functions[function.name] = function;
  }
}

// Sections .nv.info.<kernel> list the parameters of each kernel: records of
// format, attribute (0x17: a parameter) and size; the parameter's size is in
// the upper bits of its last word.
std::vector<size_t> readParameters(const char *data, size_t bytes) {
  std::map<uint16_t, size_t> sizes;
  for (size_t at = 0; at + 4 <= bytes;) {
    uint16_t size = 0;
    std::memcpy(&size, data + at + 2, 2);
    if (data[at] != 4) { // its value is in place of the size
      at += 4;
      continue;
    }
    if (data[at + 1] == 0x17 && size >= 12) {
      uint16_t ordinal = 0;
      uint32_t packed = 0;
      std::memcpy(&ordinal, data + at + 8, 2);
      std::memcpy(&packed, data + at + 12, 4);
      sizes[ordinal] = packed >> 18;
    }
    at += 4 + size;
  }
  std::vector<size_t> result;
  for (const auto &[ordinal, size] : sizes)
    result.push_back(size);
  return result;
}

void readCubin(const char *image, Module &module) {
  const auto *header = reinterpret_cast<const Elf64_Ehdr *>(image);
  const auto *sections =
      reinterpret_cast<const Elf64_Shdr *>(image + header->e_shoff);
  const char *names = image + sections[header->e_shstrndx].sh_offset;
  for (int i = 0; i < header->e_shnum; ++i) {
    const std::string name = names + sections[i].sh_name;
    if (name.starts_with(".text."))
      module.functions[name.substr(6)].name = name.substr(6);
    if (name.starts_with(".nv.info."))
      module.functions[name.substr(9)].parameters =
          readParameters(image + sections[i].sh_offset, sections[i].sh_size);
  }
}

// Of test/emulator/HostKernels.h. Its kernels call libgpu_threads.so without
// naming it.
void *kernelLibrary() {
  static void *const library = [] {
    const char *path = std::getenv("DLC_STANDIN_KERNELS");
    if (path && ::dlopen("libgpu_threads.so", RTLD_NOW | RTLD_GLOBAL))
      if (void *opened = ::dlopen(path, RTLD_NOW | RTLD_LOCAL))
        return opened;
    if (path)
      std::fprintf(stderr, "stand-in: %s\n", ::dlerror());
    return static_cast<void *>(nullptr);
  }();
  return library;
}

// From the registry, or from the library that DLC_STANDIN_KERNELS names.
const HostKernel *hostKernel(const std::string &name) {
  auto found = hostKernels().find(name);
  if (found != hostKernels().end())
    return &found->second;
  const auto symbol = [&](const char *prefix) {
    return kernelLibrary() ? ::dlsym(kernelLibrary(), (prefix + name).c_str())
                           : nullptr;
  };
  const auto function = reinterpret_cast<KernelFunction>(symbol("launch."));
  if (!function)
    return nullptr;
  return &(hostKernels()[name] = {function, reinterpret_cast<KernelAccesses>(
                                                symbol("accesses."))});
}

CUresult checkLaunch(const Function &function, const Launch &launch) {
  const auto bad = [&](const std::string &what) {
    return violation(CUDA_ERROR_INVALID_VALUE,
                     fmt::format("launch of {}: {}", function.name, what));
  };
  uint64_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    threads *= launch.block[i];
    const unsigned most = i == 0 ? 0x7fffffffu : 65535u;
    if (launch.grid[i] == 0 || launch.grid[i] > most || launch.block[i] == 0)
      return bad("bad grid or block");
  }
  if (threads > 1024)
    return bad(fmt::format("{} threads in a block", threads));
  if (int64_t(launch.shared) > function.dynamicShared)
    return bad(fmt::format("{} bytes of dynamic shared memory, {} allowed",
                           launch.shared, function.dynamicShared));
  return CUDA_SUCCESS;
}

// The values of the parameters, since the caller's may change.
struct Values {
  std::vector<std::vector<std::byte>> bytes;
  std::vector<void *> pointers;
};

} // namespace

void registerKernel(const char *name, KernelFunction function,
                    KernelAccesses accesses) {
  std::lock_guard lock(world());
  hostKernels()[name] = {function, accesses};
}

Module *loadModule(const void *image) {
  auto module = std::make_unique<Module>(currentDevice());
  const auto *text = static_cast<const char *>(image);
  if (std::memcmp(text, ELFMAG, SELFMAG) == 0)
    readCubin(text, *module);
  else
    readPtx(text, *module);
  if (module->functions.empty())
    return nullptr;
  modules().insert(module.get());
  return module.release();
}

CUresult unloadModule(Module *module) {
  if (!modules().erase(module))
    return violation(CUDA_ERROR_INVALID_HANDLE, "no such module");
  delete module;
  return CUDA_SUCCESS;
}

void forgetModules(int device) {
  std::erase_if(modules(),
                [&](const Module *m) { return m->device == device; });
}

bool isLive(const Function *function) {
  for (const Module *module : modules())
    for (const auto &[name, known] : module->functions)
      if (&known == function)
        return true;
  return false;
}

Function *findFunction(Module *module, const std::string &name) {
  if (!modules().count(module))
    return nullptr;
  const auto function = module->functions.find(name);
  return function == module->functions.end() ? nullptr : &function->second;
}

CUresult launchKernel(Function *function, Launch launch, CUstream stream) {
  if (const CUresult bad = checkLaunch(*function, launch); bad != CUDA_SUCCESS)
    return bad;
  const HostKernel *const host = hostKernel(function->name);
  if (!host && !recordOnly())
    return violation(
        CUDA_ERROR_NOT_SUPPORTED,
        fmt::format("no host function plays kernel {}", function->name));
  auto values = std::make_shared<Values>();
  for (size_t i = 0; i < function->parameters.size(); ++i) {
    const auto *from = static_cast<const std::byte *>(launch.parameters[i]);
    values->bytes.emplace_back(from, from + function->parameters[i]);
    if (function->parameters[i] != sizeof(void *))
      continue;
    void *pointer = nullptr;
    std::memcpy(&pointer, from, sizeof pointer);
    if (blockOf(pointer))
      if (const CUresult bad = checkDevice(function->name.c_str(), pointer, 1);
          bad != CUDA_SUCCESS)
        return bad;
  }
  for (auto &value : values->bytes)
    values->pointers.push_back(value.data());
  values->pointers.push_back(nullptr);
  launch.parameters = values->pointers.data();
  std::vector<Access> accesses;
  if (host && host->accesses)
    host->accesses(launch, &accesses, [](void *list, Access access) {
      static_cast<std::vector<Access> *>(list)->push_back(access);
    });
  for (const Access &access : accesses)
    if (const CUresult bad =
            checkDevice(function->name.c_str(), access.data, access.bytes);
        bad != CUDA_SUCCESS)
      return bad;
  const KernelFunction run = recordOnly() ? nullptr : host->function;
  return enqueue(
      reinterpret_cast<Stream *>(stream), function->name,
      [values, launch, run] {
        if (run)
          run(launch);
        return CUDA_SUCCESS;
      },
      std::move(accesses));
}

} // namespace dlc::standin
