// Small results of steps, brought to the host behind the work that makes them.
#pragma once

#include "runtime/device/cuda/Memory.h"

#include <vector>

namespace dlc {

// A ring of pinned slots with an event each. Ranges that lie close together
// travel as one copy, with what lies between them.
class GpuReadback final : public Readback {
public:
  static Result<std::unique_ptr<Readback>>
  create(const GpuContext &context, GpuMemory &memory,
         std::span<const Operand> ranges);

  Status post() override;
  Status collect(std::span<std::byte> to) override;

private:
  struct Range {
    CUdeviceptr from;
    uint64_t bytes;
    uint64_t at; // in a slot
  };
  struct Slot {
    std::byte *data;
    GpuEvent arrived;
  };
  explicit GpuReadback(const GpuContext &context) : context_(context) {}
  uint64_t place(const GpuMemory &memory, std::span<const Operand> ranges);

  const GpuContext &context_;
  std::vector<Range> ranges_, copies_;
  std::vector<Slot> slots_;
  uint64_t posted_ = 0, collected_ = 0;
};

} // namespace dlc
