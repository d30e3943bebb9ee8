// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/driver/Feed.h"

#include <cstring>

namespace dlc {

Result<std::unique_ptr<InputFeed>>
Feed::create(const GpuContext &context, GpuMemory &memory, uint64_t bytes) {
  constexpr std::string_view kName = "inputs on their way";
  std::unique_ptr<Feed> feed(new Feed(context));
  for (int i = 0; i < 2; ++i) {
    DLC_ASSIGN(std::byte *const pinned, memory.pin(bytes, kName));
    DLC_ASSIGN(const CUdeviceptr arrived, memory.reserve(bytes, kName));
    DLC_ASSIGN(GpuEvent landed, GpuEvent::create(context));
    DLC_ASSIGN(GpuEvent taken, GpuEvent::create(context));
    feed->halves_.push_back(
        {pinned, arrived, std::move(landed), std::move(taken)});
  }
  return std::unique_ptr<InputFeed>(std::move(feed));
}

Status Feed::put(uint64_t offset, const void *from, uint64_t bytes) {
  if (bytes == 0)
    return {};
  Half &half = halves_[now_];
  // The first put of a run, or one that may overwrite another. The host must
  // not write to pinned memory that a copy still reads, so it waits, at most
  // for the run before the last; the GPU's half is guarded on the GPU.
  if (offset < half.filled || half.filled == 0) {
    DLC_ASSIGN(const bool free, half.landed.done());
    if (!free)
      DLC_TRY(half.landed.wait());
    DLC_TRY(half.taken.holdBack(context_.copies()));
  }
  std::memcpy(half.pinned + offset, from, bytes);
  DLC_TRY(context_.check(context_.driver().cuMemcpyHtoDAsync(
                             half.arrived + offset, half.pinned + offset, bytes,
                             context_.copies()),
                         fmt::format("upload of {} bytes", bytes)));
  // Bytes below may be put again while their first copy is in progress.
  half.filled = std::max(half.filled, offset + bytes);
  return half.landed.record(context_.copies());
}

Status Feed::deliver(std::span<const Piece> pieces) {
  Half &half = halves_[now_];
  // On the compute stream, after the last run, which used the inputs' addresses
  // as scratch. The slow copy over the bus is done by then.
  DLC_TRY(half.landed.holdBack(context_.compute()));
  for (const Piece &piece : pieces)
    if (piece.bytes > 0)
      DLC_TRY(context_.check(
          context_.driver().cuMemcpyDtoDAsync(
              reinterpret_cast<CUdeviceptr>(piece.to),
              half.arrived + piece.offset, piece.bytes, context_.compute()),
          fmt::format("copy of an input of {} bytes", piece.bytes)));
  DLC_TRY(half.taken.record(context_.compute()));
  half.filled = 0;
  now_ = 1 - now_;
  return {};
}

} // namespace dlc
