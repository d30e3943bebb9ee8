// SPDX-License-Identifier: Apache-2.0
// The inputs of steps, brought to the GPU beside its computation.
#pragma once

#include "runtime/device/cuda/driver/Memory.h"

#include <vector>

namespace dlc {

// Two halves, for two runs in turn, each of pinned host memory and of memory of
// the GPU. From the host to the GPU on the stream of copies, while the run
// before goes on; from there to the inputs' places on the compute stream, at
// the speed of the GPU's memory.
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
    GpuEvent landed; // all that was put has arrived
    GpuEvent taken;  // what was delivered is in its place
    uint64_t filled = 0;
  };
  explicit Feed(const GpuContext &context) : context_(context) {}

  const GpuContext &context_;
  std::vector<Half> halves_;
  size_t now_ = 0;
};

} // namespace dlc
