#include "runtime/device/cuda/GpuReadback.h"
#include "runtime/plan/Types.h"

#include <algorithm>
#include <cstring>

namespace dlc {

constexpr uint64_t kClose = 4096; // bytes; a copy costs more than so many

Result<std::unique_ptr<Readback>>
GpuReadback::create(const GpuContext &context, GpuMemory &memory,
                    std::span<const Operand> ranges) {
  std::unique_ptr<GpuReadback> readback(new GpuReadback(context));
  const uint64_t bytes = readback->place(memory, ranges);
  DLC_ASSIGN(std::byte *const data,
             memory.pin(bytes * kUnread, "reports of steps"));
  for (int i = 0; i < kUnread; ++i) {
    DLC_ASSIGN(GpuEvent arrived, GpuEvent::create(context));
    readback->slots_.push_back(
        {data + static_cast<uint64_t>(i) * bytes, std::move(arrived)});
  }
  return std::unique_ptr<Readback>(std::move(readback));
}

// Joins ranges of one block to copies; returns the bytes of a slot.
uint64_t GpuReadback::place(const GpuMemory &memory,
                            std::span<const Operand> ranges) {
  for (const Operand &range : ranges)
    ranges_.push_back({reinterpret_cast<CUdeviceptr>(range.data),
                       plan::bytesOf(*range.type).value_or(0), 0});
  std::vector<Range *> sorted;
  for (Range &range : ranges_)
    sorted.push_back(&range);
  std::sort(sorted.begin(), sorted.end(),
            [](const Range *a, const Range *b) { return a->from < b->from; });
  uint64_t size = 0;
  for (Range *range : sorted) {
    const auto isClose = [&](const Range &copy) {
      return range->from <= copy.from + copy.bytes + kClose &&
             memory.blockOf(range->from) == memory.blockOf(copy.from);
    };
    if (copies_.empty() || !isClose(copies_.back())) {
      size = (size + 7) / 8 * 8;
      copies_.push_back({range->from, 0, size});
    }
    Range &copy = copies_.back();
    copy.bytes =
        std::max<uint64_t>(copy.bytes, range->from + range->bytes - copy.from);
    range->at = copy.at + (range->from - copy.from);
    size = copy.at + copy.bytes;
  }
  return (size + 7) / 8 * 8;
}

Status GpuReadback::post() {
  if (posted_ - collected_ == kUnread)
    return usageError("{} reports wait to be read, expected at most {}",
                      kUnread, kUnread - 1);
  const Slot &slot = slots_[posted_ % kUnread];
  for (const Range &copy : copies_)
    DLC_TRY(context_.check(
        context_.driver().cuMemcpyDtoHAsync(slot.data + copy.at, copy.from,
                                            copy.bytes, context_.compute()),
        fmt::format("report of {} bytes", copy.bytes)));
  DLC_TRY(slot.arrived.record(context_.compute()));
  ++posted_;
  return {};
}

Status GpuReadback::collect(std::span<std::byte> to) {
  if (posted_ == collected_)
    return usageError("there is no report to read");
  const Slot &slot = slots_[collected_++ % kUnread];
  DLC_TRY(slot.arrived.wait().withContext(kEarlierWork));
  uint64_t at = 0;
  for (const Range &range : ranges_) {
    std::memcpy(to.data() + at, slot.data + range.at, range.bytes);
    at += range.bytes;
  }
  return {};
}

} // namespace dlc
