// SPDX-License-Identifier: Apache-2.0
#include "test/pretend/libraries/cuda/Modules.h"
#include "test/pretend/libraries/cuda/Contexts.h"
#include "test/pretend/libraries/cuda/Engine.h"
#include "test/pretend/libraries/cuda/Memory.h"
#include "test/pretend/libraries/cuda/Trace.h"

#include <algorithm>
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

// By PTX ISA (80: 8.0), the CUDA version of the first driver that compiles it.
constexpr std::pair<int, int> kIsas[] = {
    {80, 12000}, {81, 12010}, {82, 12020}, {83, 12030}, {84, 12040},
    {85, 12050}, {86, 12070}, {87, 12080}, {88, 12090}, {90, 13000}};

// The driver compiles it for its GPU: `.version 8.0`, `.target sm_80`.
CUresult checkPtx(const std::string &text, int driver, int sm,
                  std::string &log) {
  static const std::regex version(R"(\.version\s+(\d+)\.(\d))"),
      target(R"(\.target\s+sm_(\d+)\b)");
  std::smatch isa, own;
  if (!std::regex_search(text, isa, version) ||
      !std::regex_search(text, own, target)) {
    log = "ptxas fatal : Missing .version or .target directive";
    return CUDA_ERROR_INVALID_PTX;
  }
  int newest = 78; // of older drivers
  for (const auto &[known, first] : kIsas)
    if (first <= driver)
      newest = known;
  if (std::stoi(isa[1]) * 10 + std::stoi(isa[2]) > newest) {
    log = fmt::format("ptxas fatal : Unsupported .version {}.{}; current "
                      "version is '{}.{}'",
                      isa[1].str(), isa[2].str(), newest / 10, newest % 10);
    return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  }
  return std::stoi(own[1]) <= sm ? CUDA_SUCCESS : CUDA_ERROR_NO_BINARY_FOR_GPU;
}

// .entry name( .param .u64 a, .param .align 8 .b8 b[16] ) .maxntid 256 { ...
void readPtx(const std::string &text, Module &module) {
  static const std::regex entry(R"(\.entry\s+([\w$]+)\s*\(([^)]*)\)([^{]*))");
  static const std::regex parameter(
      R"(\.param(?:\s+\.align\s+\d+)?\s+\.[a-z]+(\d+)[^,\[]*(?:\[(\d+)\])?)");
  static const std::regex threads(R"(\.maxntid\s+(\d+))"),
      shared(R"(\.shared\s+\.align\s+\d+\s+\.b8\s+\w+\[(\d+)\])");
  using Iterator = std::sregex_iterator;
  for (Iterator it(text.begin(), text.end(), entry), end; it != end; ++it) {
    Function function{(*it)[1], {}};
    const std::string list = (*it)[2], limits = (*it)[3];
    for (Iterator p(list.begin(), list.end(), parameter); p != end; ++p)
      function.parameters.push_back(
          std::stoul((*p)[1]) / 8 *
          ((*p)[2].matched ? std::stoul((*p)[2]) : 1));
    if (std::smatch most; std::regex_search(limits, most, threads))
      function.most = static_cast<unsigned>(std::stoul(most[1]));
    const std::string body(it->suffix().first, text.end());
    const std::string own = body.substr(0, body.find("\n}"));
    for (Iterator s(own.begin(), own.end(), shared); s != end; ++s)
      function.ownShared += std::stoi((*s)[1]);
    module.functions[function.name] = function;
  }
}

// Sections .nv.info.<kernel> list what is known of each kernel: records of
// format, attribute and size. 0x17 is a parameter, whose size is in the upper
// bits of its last word; 0x05 the threads of a block at most, by dimension.
void readInfo(const char *data, size_t bytes, Function &function) {
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
    if (data[at + 1] == 0x05 && size >= 12) {
      uint32_t most[3];
      std::memcpy(most, data + at + 4, sizeof most);
      function.most = most[0] * most[1] * most[2];
    }
    at += 4 + size;
  }
  for (const auto &[ordinal, size] : sizes)
    function.parameters.push_back(size);
}

// Machine code says by its ABI which drivers know it (0x41: CUDA 13 and newer),
// and in its flags its SM, whose major version the GPU must have.
CUresult checkCubin(const char *image, int driver, int sm) {
  const auto *header = reinterpret_cast<const Elf64_Ehdr *>(image);
  const bool isNew = header->e_ident[EI_OSABI] == 0x41;
  if (isNew && driver < 13000)
    return CUDA_ERROR_INVALID_IMAGE;
  const int own = static_cast<int>(header->e_flags >> (isNew ? 8 : 0) & 0xff);
  return own / 10 == sm / 10 && own <= sm ? CUDA_SUCCESS
                                          : CUDA_ERROR_NO_BINARY_FOR_GPU;
}

// From SM 90 on the driver has the first of a block's shared memory.
constexpr int kReservedShared = 1024;

void readCubin(const char *image, Module &module) {
  const auto *header = reinterpret_cast<const Elf64_Ehdr *>(image);
  const auto *sections =
      reinterpret_cast<const Elf64_Shdr *>(image + header->e_shoff);
  const char *names = image + sections[header->e_shstrndx].sh_offset;
  bool isReserved = false;
  for (int i = 0; i < header->e_shnum; ++i) {
    const std::string name = names + sections[i].sh_name;
    const auto function = [&](size_t prefix) -> Function & {
      Function &found = module.functions[name.substr(prefix)];
      found.name = name.substr(prefix);
      return found;
    };
    if (name.starts_with(".text."))
      function(6);
    if (name.starts_with(".nv.info."))
      readInfo(image + sections[i].sh_offset, sections[i].sh_size, function(9));
    if (name.starts_with(".nv.shared.reserved."))
      isReserved = true;
    else if (name.starts_with(".nv.shared."))
      function(11).ownShared = static_cast<int>(sections[i].sh_size);
  }
  for (auto &[name, function] : module.functions)
    if (isReserved && function.ownShared >= kReservedShared)
      function.ownShared -= kReservedShared;
}

// Of test/pretend/emulator/HostKernels.h. Its kernels call libgpu_threads.so
// without naming it.
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
  if (threads > function.most)
    return bad(fmt::format("{} threads in a block, at most {} by .maxntid",
                           threads, function.most));
  const int64_t shared = int64_t(launch.shared) + function.ownShared;
  if (shared > std::max(function.dynamicShared, function.ownShared))
    return bad(fmt::format("{} bytes of shared memory, {} allowed", shared,
                           function.dynamicShared));
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

CUresult loadModule(const void *image, int driver, int sm, Module *&loaded,
                    std::string &log) {
  auto module = std::make_unique<Module>(currentDevice());
  const auto *text = static_cast<const char *>(image);
  const bool isCubin = std::memcmp(text, ELFMAG, SELFMAG) == 0;
  const bool isPtx = !isCubin && std::strstr(text, ".version");
  if (!isCubin && !isPtx)
    return CUDA_ERROR_INVALID_IMAGE;
  if (const CUresult refused = isCubin ? checkCubin(text, driver, sm)
                                       : checkPtx(text, driver, sm, log);
      refused != CUDA_SUCCESS)
    return refused;
  if (isCubin)
    readCubin(text, *module);
  else
    readPtx(text, *module);
  modules().insert(module.get());
  loaded = module.release();
  return CUDA_SUCCESS;
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
