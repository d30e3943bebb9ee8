// SPDX-License-Identifier: Apache-2.0
// Copies the results of steps to the host in parallel with later work.
#pragma once

#include "runtime/device/cuda/driver/DeviceMemory.h"

#include <vector>

namespace dlc {

// A GPU buffer from which results are copied, since the next run overwrites
// them, and a ring of pinned host slots. Results are copied to the buffer on
// the compute stream, at the speed of the GPU's memory, and to the host on the
// result stream during the next run. Ranges that are close together are copied
// as one, with the gap.
class GpuReadback final : public Readback {
public:
  static Result<std::unique_ptr<Readback>>
  create(const GpuContext &context, GpuMemory &memory,
         std::span<const Operand> ranges);

  Status post() override;
  Result<std::span<std::byte *const>> collect() override;

private:
  struct Range {
    CUdeviceptr from;
    uint64_t bytes;
    uint64_t at; // offset in a slot
  };
  struct Slot {
    std::byte *data;
    GpuEvent arrived;
  };
  GpuReadback(const GpuContext &context, GpuEvent ready)
      : context_(context), ready_(std::move(ready)) {}
  void place(const GpuMemory &memory, std::span<const Operand> ranges);

  const GpuContext &context_;
  std::vector<Range> ranges_, copies_;
  uint64_t bytes_ = 0; // of a slot
  CUdeviceptr leaving_ = 0;
  GpuEvent ready_; // results are in the buffer
  std::vector<Slot> slots_;
  uint64_t posted_ = 0, collected_ = 0;
  std::vector<std::byte *> places_; // of the last collect()
};

} // namespace dlc
