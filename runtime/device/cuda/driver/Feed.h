// SPDX-License-Identifier: Apache-2.0
// Copies the inputs of steps to the GPU in parallel with its computation.
#pragma once

#include "runtime/device/cuda/driver/DeviceMemory.h"

#include <vector>

namespace dlc {

// Double buffering, each half with pinned host memory and GPU memory. Inputs
// are copied to the GPU on the copy stream during the run before, and on the
// compute stream to their addresses, at the speed of the GPU's memory.
class Feed final : public InputFeed {
public:
  static Result<std::unique_ptr<InputFeed>>
  create(const GpuContext &context, GpuMemory &memory, uint64_t bytes);

  Status put(uint64_t offset, const void *from, uint64_t bytes) override;
  Status deliver(std::span<const Piece> pieces) override;

private:
  struct Half {
    std::byte *pinned;
    CUdeviceptr arrived;
    GpuEvent landed; // all copies have arrived
    GpuEvent taken;  // delivered inputs are in place
    uint64_t filled = 0;
  };
  explicit Feed(const GpuContext &context) : context_(context) {}

  const GpuContext &context_;
  std::vector<Half> halves_;
  size_t now_ = 0;
};

} // namespace dlc
