// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/driver/GpuReadback.h"
#include "runtime/device/Operands.h"
#include "runtime/plan/Types.h"

#include <algorithm>

namespace dlc {

constexpr uint64_t kClose = 4096; // bytes; as expensive as a copy

Result<std::unique_ptr<Readback>>
GpuReadback::create(const GpuContext &context, GpuMemory &memory,
                    std::span<const Operand> ranges) {
  constexpr std::string_view kName = "results on their way";
  DLC_ASSIGN(GpuEvent ready, GpuEvent::create(context));
  std::unique_ptr<GpuReadback> readback(
      new GpuReadback(context, std::move(ready)));
  readback->place(memory, ranges);
  DLC_ASSIGN(readback->leaving_, memory.reserve(readback->bytes_, kName));
  for (int i = 0; i < kUnread; ++i) {
    DLC_ASSIGN(std::byte *const data, memory.pin(readback->bytes_, kName));
    DLC_ASSIGN(GpuEvent arrived, GpuEvent::create(context));
    readback->slots_.push_back({data, std::move(arrived)});
  }
  return std::unique_ptr<Readback>(std::move(readback));
}

// Merges ranges of one block into copies.
void GpuReadback::place(const GpuMemory &memory,
                        std::span<const Operand> ranges) {
  for (const Operand &range : ranges)
    ranges_.push_back({reinterpret_cast<CUdeviceptr>(range.data),
                       plan::bytesOf(*range.type).value_or(0), 0});
  std::vector<Range *> sorted;
  for (Range &range : ranges_)
    sorted.push_back(&range);
  std::sort(sorted.begin(), sorted.end(),
            [](const Range *a, const Range *b) { return a->from < b->from; });
  for (Range *range : sorted) {
    const auto isClose = [&](const Range &copy) {
      return range->from <= copy.from + copy.bytes + kClose &&
             memory.blockOf(range->from) == memory.blockOf(copy.from);
    };
    if (copies_.empty() || !isClose(copies_.back()))
      copies_.push_back({range->from, 0, alignedBytes(bytes_)});
    Range &copy = copies_.back();
    copy.bytes =
        std::max<uint64_t>(copy.bytes, range->from + range->bytes - copy.from);
    range->at = copy.at + (range->from - copy.from);
    bytes_ = copy.at + copy.bytes;
  }
}

Status GpuReadback::post() {
  if (posted_ - collected_ == kUnread)
    return usageError("{} reports wait to be read, expected at most {}",
                      kUnread, kUnread - 1);
  const Driver &driver = context_.driver();
  if (posted_ > 0) // its copies have been made
    DLC_TRY(
        slots_[(posted_ - 1) % kUnread].arrived.holdBack(context_.compute()));
  for (const Range &copy : copies_)
    DLC_TRY(context_.check(
        driver.cuMemcpyDtoDAsync(leaving_ + copy.at, copy.from, copy.bytes,
                                 context_.compute()),
        fmt::format("copy of a result of {} bytes", copy.bytes)));
  DLC_TRY(ready_.record(context_.compute()));
  DLC_TRY(ready_.holdBack(context_.results()));
  const Slot &slot = slots_[posted_ % kUnread];
  DLC_TRY(context_.check(
      driver.cuMemcpyDtoHAsync(slot.data, leaving_, bytes_, context_.results()),
      fmt::format("download of results of {} bytes", bytes_)));
  DLC_TRY(slot.arrived.record(context_.results()));
  ++posted_;
  return {};
}

Result<std::span<std::byte *const>> GpuReadback::collect() {
  if (posted_ == collected_)
    return usageError("there is no report to read");
  const Slot &slot = slots_[collected_++ % kUnread];
  DLC_TRY(slot.arrived.wait().withContext(kEarlierWork));
  places_.clear();
  for (const Range &range : ranges_)
    places_.push_back(slot.data + range.at);
  return std::span<std::byte *const>(places_);
}

} // namespace dlc
