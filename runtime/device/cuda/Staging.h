// Pinned host memory that copies between host and GPU pass through: an upload
// returns when its bytes are in it, and the GPU fetches them in its own time.
#pragma once

#include "runtime/device/cuda/Context.h"

#include <vector>

namespace dlc {

// A ring of slots. A slot is used again when the GPU is done with it; with
// enough slots for the inputs of two steps the host does not wait.
class Staging {
public:
  static constexpr uint64_t kSlotBytes = 4 << 20;
  static constexpr size_t kSlots = 8;

  static Result<std::unique_ptr<Staging>> create(const GpuContext &context);
  ~Staging();

  // Ordered with the work on the compute stream.
  Status upload(CUdeviceptr to, const void *from, uint64_t bytes);
  Status download(void *to, CUdeviceptr from, uint64_t bytes);

  static constexpr uint64_t bytes() { return kSlotBytes * kSlots; }

private:
  struct Slot {
    std::byte *data;
    GpuEvent event;
  };
  explicit Staging(const GpuContext &context) : context_(context) {}
  Result<Slot *> takeSlot();

  const GpuContext &context_;
  std::byte *memory_ = nullptr;
  std::vector<Slot> slots_;
  size_t next_ = 0;
};

} // namespace dlc
