// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/driver/DeviceMemory.h"

#include <algorithm>

namespace dlc {

GpuMemory::~GpuMemory() {
  for (const Block &block : blocks_)
    context_.driver().cuMemFree(block.data);
  for (void *data : pinned_)
    context_.driver().cuMemFreeHost(data);
}

static std::string mebibytes(uint64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

Status GpuMemory::shortage(const Status &error, uint64_t bytes,
                           std::string_view name) const {
  size_t free = 0, total = 0;
  context_.driver().cuMemGetInfo(&free, &total);
  std::string text = fmt::format(
      "GPU {} ({}) has not enough memory for {}: {} wanted, {} of {} free",
      context_.ordinal(), context_.properties().name, name, mebibytes(bytes),
      mebibytes(free), mebibytes(total));
  std::vector<const Block *> blocks;
  for (const Block &block : blocks_)
    blocks.push_back(&block);
  std::sort(blocks.begin(), blocks.end(),
            [](const Block *a, const Block *b) { return a->bytes > b->bytes; });
  for (const Block *block : blocks)
    text += fmt::format("\n  {:>12}  {}", mebibytes(block->bytes), block->name);
  return limitExceeded("{}\n({})", text, error.message());
}

Result<CUdeviceptr> GpuMemory::add(uint64_t bytes, std::string_view name,
                                   bool isRegion) {
  CUdeviceptr data = 0;
  const uint64_t size = std::max<uint64_t>(bytes, 1);
  const Status status =
      context_.check(context_.driver().cuMemAlloc(&data, size), "cuMemAlloc");
  if (status.code() == Code::Limit)
    return shortage(status, bytes, name);
  DLC_TRY(status.withContext(name));
  blocks_.push_back({std::string(name), data, bytes, isRegion});
  return data;
}

Result<CUdeviceptr> GpuMemory::allocate(uint64_t bytes, std::string_view name) {
  DLC_ASSIGN(const CUdeviceptr data, add(bytes, name, true));
  if (bytes > 0)
    DLC_TRY(context_.check(
        context_.driver().cuMemsetD8Async(data, 0, bytes, context_.compute()),
        name));
  return data;
}

Status GpuMemory::reserveWorkspace(uint64_t bytes) {
  if (bytes <= workspaceBytes_)
    return {};
  DLC_ASSIGN(workspace_, add(bytes, "scratch of library calls", false));
  workspaceBytes_ = bytes;
  return {};
}

Result<std::byte *> GpuMemory::pin(uint64_t bytes, std::string_view name) {
  void *data = nullptr;
  const uint64_t size = std::max<uint64_t>(bytes, 1);
  DLC_TRY(context_.check(
      context_.driver().cuMemHostAlloc(&data, size, 0),
      fmt::format("cannot allocate {} of pinned host memory for {}",
                  mebibytes(bytes), name)));
  pinned_.push_back(data);
  pinnedBytes_ += size;
  return static_cast<std::byte *>(data);
}

CUdeviceptr GpuMemory::blockOf(CUdeviceptr address) const {
  for (const Block &block : blocks_)
    if (address >= block.data && address - block.data < block.bytes)
      return block.data;
  return 0;
}

MemoryReport GpuMemory::report() const {
  MemoryReport report;
  report.host = pinnedBytes_;
  for (const Block &block : blocks_)
    (block.isRegion ? report.regions : report.workspace) += block.bytes;
  return report;
}

} // namespace dlc
