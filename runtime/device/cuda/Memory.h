// Device memory: the plan's regions, and scratch that library calls share.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/device/cuda/Context.h"

#include <vector>

namespace dlc {

class GpuMemory {
public:
  explicit GpuMemory(const GpuContext &context) : context_(context) {}
  ~GpuMemory();

  // Zeroed, 256-byte aligned. Limit, with a table of what this process holds
  // and what is free, when the GPU has not enough.
  Result<CUdeviceptr> allocate(uint64_t bytes, std::string_view name);

  // Makes the scratch at least this large, at bind; commands read it when they
  // are enqueued. Smaller scratch of earlier binds stays valid, since a
  // recorded step may use it.
  Status reserveWorkspace(uint64_t bytes);
  CUdeviceptr workspace() const { return workspace_; }
  uint64_t workspaceBytes() const { return workspaceBytes_; }

  MemoryReport report() const;

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
  CUdeviceptr workspace_ = 0;
  uint64_t workspaceBytes_ = 0;
};

} // namespace dlc
