// SPDX-License-Identifier: Apache-2.0
#include "test/pretend/libraries/cuda/Memory.h"
#include "test/pretend/libraries/cuda/Contexts.h"
#include "test/pretend/libraries/cuda/Trace.h"

#include <cstring>
#include <map>
#include <sys/mman.h>

namespace dlc::standin {

struct Block {
  uint64_t bytes, mapped;
  bool pinned, freed;
  int device;
};

namespace {

std::map<uintptr_t, Block> &blocks() {
  static auto *blocks = new std::map<uintptr_t, Block>;
  return *blocks;
}

uint64_t used = 0;

constexpr uint64_t kPage = 4096;

std::map<uintptr_t, Block>::iterator find(const void *data) {
  auto next = blocks().upper_bound(reinterpret_cast<uintptr_t>(data));
  if (next == blocks().begin())
    return blocks().end();
  --next;
  const uintptr_t at = reinterpret_cast<uintptr_t>(data);
  return at < next->first + std::max<uint64_t>(next->second.bytes, 1)
             ? next
             : blocks().end();
}

CUresult check(const char *call, const void *data, uint64_t bytes,
               bool pinned) {
  const char *kind = pinned ? "pinned host memory" : "device memory";
  const auto block = find(data);
  if (block == blocks().end() || block->second.pinned != pinned)
    return violation(
        CUDA_ERROR_INVALID_VALUE,
        fmt::format("{}: {} is not in {}", call, placeOf(data), kind));
  if (block->second.freed)
    return violation(
        CUDA_ERROR_INVALID_VALUE,
        fmt::format("{}: {} was freed before", call, placeOf(data)));
  if (const uint64_t offset = reinterpret_cast<uintptr_t>(data) - block->first;
      offset + bytes > block->second.bytes)
    return violation(CUDA_ERROR_INVALID_VALUE,
                     fmt::format("{}: {} bytes at {} leave its {} bytes", call,
                                 bytes, placeOf(data), block->second.bytes));
  return CUDA_SUCCESS;
}

} // namespace

uint64_t deviceMemoryTotal() {
  return uint64_t(environment("DLC_STANDIN_MEMORY_MIB", 8192)) << 20;
}
uint64_t deviceMemoryFree() { return deviceMemoryTotal() - used; }

CUresult allocateBlock(uint64_t bytes, bool pinned, void *&data) {
  if (bytes == 0)
    return violation(CUDA_ERROR_INVALID_VALUE, "allocation of 0 bytes");
  if (!pinned && bytes > deviceMemoryFree())
    return CUDA_ERROR_OUT_OF_MEMORY;
  const uint64_t mapped = (bytes + kPage - 1) / kPage * kPage + kPage;
  void *memory = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return CUDA_ERROR_OUT_OF_MEMORY;
  auto *start = static_cast<std::byte *>(memory);
  ::mprotect(start + mapped - kPage, kPage, PROT_NONE);
  // As near to the guard as the alignment allows.
  start += (mapped - kPage - bytes) / 256 * 256;
  if (!pinned && !recordOnly())
    std::memset(start, 0xff, bytes);
  blocks()[reinterpret_cast<uintptr_t>(start)] = {bytes, mapped, pinned, false,
                                                  currentDevice()};
  used += pinned ? 0 : bytes;
  data = start;
  return CUDA_SUCCESS;
}

CUresult freeBlock(void *data, bool pinned) {
  const auto block = blocks().find(reinterpret_cast<uintptr_t>(data));
  if (block == blocks().end() || block->second.freed ||
      block->second.pinned != pinned)
    return violation(
        CUDA_ERROR_INVALID_VALUE,
        fmt::format("{} is freed, but is no live allocation", placeOf(data)));
  block->second.freed = true;
  used -= pinned ? 0 : block->second.bytes;
  const uintptr_t first = block->first / kPage * kPage;
  const uintptr_t last =
      (block->first + block->second.bytes + kPage - 1) / kPage * kPage;
  ::mmap(reinterpret_cast<void *>(first), last - first, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  return CUDA_SUCCESS;
}

void freeBlocks(int device) {
  for (const auto &[address, block] : blocks())
    if (block.device == device && !block.freed)
      (void)freeBlock(reinterpret_cast<void *>(address), block.pinned);
}

std::string placeOf(const void *data) {
  const auto block = find(data);
  if (block == blocks().end())
    return data ? "host" : "null";
  const auto *base = reinterpret_cast<const void *>(block->first);
  return fmt::format("{}+{}", nameOf(block->second.pinned ? 'h' : 'd', base),
                     reinterpret_cast<uintptr_t>(data) - block->first);
}

Block *blockOf(const void *data) {
  const auto block = find(data);
  return block == blocks().end() ? nullptr : &block->second;
}

CUresult checkDevice(const char *call, const void *data, uint64_t bytes) {
  return check(call, data, bytes, false);
}
CUresult checkPinned(const char *call, const void *data, uint64_t bytes) {
  return check(call, data, bytes, true);
}

} // namespace dlc::standin
