// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/driver/Staging.h"

#include <algorithm>
#include <cstring>

namespace dlc {

Result<std::unique_ptr<Staging>> Staging::create(const GpuContext &context,
                                                 GpuMemory &memory) {
  std::unique_ptr<Staging> staging(new Staging(context));
  DLC_ASSIGN(std::byte *const data,
             memory.pin(kSlotBytes * kSlots, "copies of state"));
  for (size_t i = 0; i < kSlots; ++i) {
    DLC_ASSIGN(GpuEvent event, GpuEvent::create(context));
    staging->slots_.push_back({data + i * kSlotBytes, std::move(event)});
  }
  return staging;
}

Result<Staging::Slot *> Staging::takeSlot() {
  Slot &slot = slots_[next_];
  next_ = (next_ + 1) % slots_.size();
  DLC_ASSIGN(const bool free, slot.event.done());
  if (!free)
    DLC_TRY(slot.event.wait());
  return &slot;
}

Status Staging::upload(CUdeviceptr to, const void *from, uint64_t bytes) {
  auto *source = static_cast<const std::byte *>(from);
  for (uint64_t at = 0; at < bytes; at += kSlotBytes) {
    const uint64_t size = std::min(kSlotBytes, bytes - at);
    DLC_ASSIGN(Slot *const slot, takeSlot());
    std::memcpy(slot->data, source + at, size);
    DLC_TRY(context_.check(context_.driver().cuMemcpyHtoDAsync(
                               to + at, slot->data, size, context_.compute()),
                           fmt::format("upload of {} bytes", size)));
    DLC_TRY(slot->event.record(context_.compute()));
  }
  return {};
}

// Uses all slots to copy ahead of the host.
Status Staging::download(void *to, CUdeviceptr from, uint64_t bytes) {
  auto *target = static_cast<std::byte *>(to);
  const uint64_t pieces = (bytes + kSlotBytes - 1) / kSlotBytes;
  std::vector<Slot *> flying;
  for (uint64_t piece = 0; piece < pieces + kSlots; ++piece) {
    if (piece >= kSlots && piece - kSlots < pieces) {
      const uint64_t at = (piece - kSlots) * kSlotBytes;
      Slot &slot = *flying[piece - kSlots];
      DLC_TRY(slot.event.wait().withContext(kEarlierWork));
      std::memcpy(target + at, slot.data, std::min(kSlotBytes, bytes - at));
    }
    if (piece >= pieces)
      continue;
    const uint64_t at = piece * kSlotBytes;
    DLC_ASSIGN(Slot *const slot, takeSlot());
    DLC_TRY(context_.check(
        context_.driver().cuMemcpyDtoHAsync(slot->data, from + at,
                                            std::min(kSlotBytes, bytes - at),
                                            context_.compute()),
        fmt::format("download of {} bytes", bytes)));
    DLC_TRY(slot->event.record(context_.compute()));
    flying.push_back(slot);
  }
  return {};
}

} // namespace dlc
