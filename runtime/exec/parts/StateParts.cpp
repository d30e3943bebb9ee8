#include "runtime/exec/parts/StateParts.h"
#include "runtime/plan/Types.h"

#include <cstring>

namespace dlc {

static uint64_t bytesOf(const plan::State &state) {
  return plan::bytesOf(state.type()).value_or(0);
}

std::optional<Shards::Part> StateParts::partOf(const plan::State &state) const {
  return shards_.partOf(state.region(), state.offset(), bytesOf(state));
}

StateParts::Range StateParts::rangeOf(const plan::State &state) const {
  const auto part = partOf(state);
  return part ? Range{part->skipped, part->skipped + part->bytes}
              : Range{0, bytesOf(state)};
}

Result<TensorView> StateParts::fetch(const plan::State &state, Range range,
                                     std::vector<std::byte> &copy) {
  const auto part = partOf(state);
  std::byte *const data =
      regions_[state.region()] +
      (part ? part->offset + (range.begin - part->skipped)
            : shards_.offsetOf(state.region(), state.offset()) + range.begin);
  const uint64_t bytes = range.end - range.begin;
  if (std::byte *const host = device_.hostPointer(data))
    return TensorView{&state.type(), host, bytes};
  copy.resize(bytes);
  DLC_TRY(device_.download(copy.data(), data, bytes));
  return TensorView{&state.type(), copy.data(), bytes};
}

Status StateParts::gather(const plan::State &state, Communicator &communicator,
                          bool keep) {
  const Shards::Part part = *partOf(state);
  std::vector<std::byte> whole(bytesOf(state));
  if (part.bytes > 0)
    DLC_TRY(device_.download(whole.data() + part.skipped,
                             regions_[state.region()] + part.offset,
                             part.bytes));
  DLC_TRY(communicator.allGather(whole.data(), part.pieces));
  if (keep)
    wholes_[state.name()] = std::move(whole);
  return {};
}

Status StateParts::write(const plan::State &state, const std::byte *from) {
  const Shards::Part part = *partOf(state);
  if (keeps_)
    wholes_[state.name()].assign(from, from + bytesOf(state));
  if (part.bytes == 0)
    return {};
  return device_.upload(regions_[state.region()] + part.offset,
                        from + part.skipped, part.bytes);
}

Status StateParts::read(const plan::State &state, void *to) const {
  const auto whole = wholes_.find(state.name());
  if (whole == wholes_.end())
    return unknown(state);
  std::memcpy(to, whole->second.data(), whole->second.size());
  return {};
}

Status StateParts::unknown(const plan::State &state) const {
  return failed("each rank has a part of state '{}', and the parts were not "
                "gathered",
                state.name());
}

} // namespace dlc
