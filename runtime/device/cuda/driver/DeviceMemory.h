// SPDX-License-Identifier: Apache-2.0
// Memory of a GPU: the plan's regions, scratch that library calls share, and
// pinned host memory for copies. All of it lives as long as this object.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/device/cuda/driver/Context.h"

#include <vector>

namespace dlc {

class GpuMemory {
public:
  explicit GpuMemory(const GpuContext &context) : context_(context) {}
  ~GpuMemory();

  // Zeroed, 256-byte aligned. Limit if the GPU has too little memory, with a
  // table of what this process holds and what is free.
  Result<CUdeviceptr> allocate(uint64_t bytes, std::string_view name);

  // Makes the scratch at least this large, at bind; commands read its address
  // when they are enqueued. Smaller scratch of earlier binds stays valid, since
  // a recorded step may use it.
  Status reserveWorkspace(uint64_t bytes);
  CUdeviceptr workspace() const { return workspace_; }
  uint64_t workspaceBytes() const { return workspaceBytes_; }

  // Device memory for the runtime's own use.
  Result<CUdeviceptr> reserve(uint64_t bytes, std::string_view name) {
    return add(bytes, name, false);
  }
  // Pinned host memory.
  Result<std::byte *> pin(uint64_t bytes, std::string_view name);

  MemoryReport report() const;

  // The start of the allocation that contains this address.
  CUdeviceptr blockOf(CUdeviceptr address) const;

private:
  struct Block {
    std::string name;
    CUdeviceptr data;
    uint64_t bytes;
    bool isRegion;
  };
  Result<CUdeviceptr> add(uint64_t bytes, std::string_view name, bool isRegion);
  Status shortage(const Status &error, uint64_t bytes,
                  std::string_view name) const;

  const GpuContext &context_;
  std::vector<Block> blocks_;
  std::vector<void *> pinned_;
  uint64_t pinnedBytes_ = 0;
  CUdeviceptr workspace_ = 0;
  uint64_t workspaceBytes_ = 0;
};

} // namespace dlc
