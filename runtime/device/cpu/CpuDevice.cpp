// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/device/cpu/Kinds.h"

#include <algorithm>
#include <cstring>

#include <sys/mman.h>

namespace dlc {

constexpr uint64_t kHugePage = 2 << 20;

// Maps zeroed pages, large ones for large ranges; null if there are none.
static void *mapPages(uint64_t bytes) {
  void *data = mmap(nullptr, std::max<uint64_t>(bytes, 1),
                    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED)
    return nullptr;
  if (bytes >= kHugePage)
    madvise(data, bytes, MADV_HUGEPAGE);
  return data;
}

static void unmapPages(void *data, uint64_t bytes) {
  if (data)
    munmap(data, std::max<uint64_t>(bytes, 1));
}

Workspace::~Workspace() { unmapPages(data_, bytes_); }

Status Workspace::reserve(uint64_t bytes) {
  if (bytes <= bytes_)
    return {};
  void *data = mapPages(bytes);
  if (!data)
    return limitExceeded("cannot allocate {} bytes of scratch memory", bytes);
  unmapPages(data_, bytes_);
  data_ = static_cast<std::byte *>(data);
  bytes_ = bytes;
  return {};
}

CpuDevice::~CpuDevice() {
  for (const Mapping &region : regions_)
    unmapPages(region.data, region.bytes);
}

Status CpuDevice::makeCurrent() {
  threads_.makeCurrent();
  return {};
}

Result<std::byte *> CpuDevice::allocate(uint64_t bytes, std::string_view name) {
  void *data = mapPages(bytes);
  if (!data)
    return limitExceeded("cannot allocate {} bytes for {}", bytes, name);
  regions_.push_back({data, bytes});
  regionBytes_ += bytes;
  return static_cast<std::byte *>(data);
}

Status CpuDevice::upload(std::byte *to, const void *from, uint64_t bytes) {
  std::memcpy(to, from, bytes);
  return {};
}

Status CpuDevice::download(void *to, const std::byte *from, uint64_t bytes) {
  std::memcpy(to, from, bytes);
  return {};
}

Status CpuDevice::fill(std::byte *to, uint8_t value, uint64_t bytes) {
  std::memset(to, value, bytes);
  return {};
}

Status CpuDevice::loadKernels(const KernelFiles &files) {
  constexpr char kFile[] = "kernels.so";
  opLibraries_.setFiles(files);
  if (files.isArtifact() && !files.has(kFile))
    return {}; // the first command that needs it reports it
  DLC_ASSIGN(const std::string bytes, files.read(kFile));
  DLC_ASSIGN(kernels_,
             PrivateLibrary::load(bytes, files.isArtifact()
                                             ? files.path() + "/" + kFile
                                             : files.path()));
  return {};
}

Result<KernelFunction> CpuDevice::kernel(const std::string &symbol) const {
  if (!kernels_)
    return corrupt("kernel '{}': no kernels are loaded", symbol);
  void *function = kernels_.find(symbol.c_str());
  if (!function)
    return corrupt("{}: no kernel '{}' in it", kernels_.name(), symbol);
  return reinterpret_cast<KernelFunction>(function);
}

Result<std::unique_ptr<Command>> CpuDevice::bind(const CommandSpec &spec) {
  const Factory factory = findKind(spec.command.kind(), added_);
  if (!factory)
    return incompatible(
        "command '{}' is of kind '{}', which this version has no CPU code for",
        spec.command.label(), spec.command.kind());
  threads_.makeCurrent();
  return factory(*this, spec);
}

} // namespace dlc
