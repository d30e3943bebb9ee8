// SPDX-License-Identifier: Apache-2.0
// Pinned host memory for copies between host and GPU: an upload returns when
// its bytes are in it; the GPU copies them later.
#pragma once

#include "runtime/device/cuda/driver/DeviceMemory.h"

#include <vector>

namespace dlc {

// A ring of slots, each reused when the GPU is done with it. For state; the
// inputs of steps have a Feed.
class Staging {
public:
  static constexpr uint64_t kSlotBytes = 4 << 20;
  static constexpr size_t kSlots = 8;

  static Result<std::unique_ptr<Staging>> create(const GpuContext &context,
                                                 GpuMemory &memory);

  // Copies in order with the work on the compute stream.
  Status upload(CUdeviceptr to, const void *from, uint64_t bytes);
  Status download(void *to, CUdeviceptr from, uint64_t bytes);

private:
  struct Slot {
    std::byte *data;
    GpuEvent event;
  };
  explicit Staging(const GpuContext &context) : context_(context) {}
  Result<Slot *> takeSlot();

  const GpuContext &context_;
  std::vector<Slot> slots_;
  size_t next_ = 0;
};

} // namespace dlc
