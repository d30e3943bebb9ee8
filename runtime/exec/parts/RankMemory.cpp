// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/parts/RankMemory.h"

#include "runtime/plan/Attributes.h"
#include "runtime/plan/Types.h"

#include <algorithm>
#include <utility>

namespace dlc {

constexpr uint64_t kAlignment = 64; // of a part, as of the plan's tensors

static uint64_t aligned(uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

static std::vector<size_t> piecesOf(const plan::Part &part, int ranks) {
  return plan::piecesOf(part.bytes(), part.extent(), part.item_bytes(), ranks);
}

static int64_t itemOfKernel(const plan::Command &command) {
  return command.kind() == "kernel" ? plan::itemOf(command) : 0;
}

RankMemory::RankMemory(const plan::Plan &plan, int rank, int ranks, int group)
    : rank_(rank), ranks_(ranks), shares_(group ? group : ranks),
      regions_(static_cast<size_t>(plan.regions_size())) {
  for (const plan::Region &region : plan.regions())
    bytes_.push_back(region.bytes());
  if (ranks == 1)
    return;
  uint64_t saved = 0, region = 0;
  for (const plan::Part &part : plan.parts()) {
    if (std::exchange(region, part.region()) != part.region())
      saved = 0;
    Place place{part, plan::itemsOf(part.extent(), share(), shares_)};
    place.ownBytes = piecesOf(part, shares_)[static_cast<size_t>(share())];
    place.local = part.offset() - saved; // both multiples of its alignment
    // Data after it keeps its alignment.
    const uint64_t kept = std::min(aligned(place.ownBytes), part.bytes());
    saved += (part.bytes() - kept) / kAlignment * kAlignment;
    place.after = part.offset() + part.bytes() - saved;
    bytes_[part.region()] =
        plan.regions(static_cast<int>(part.region())).bytes() - saved;
    places_.push_back(std::move(place));
  }
}

const RankMemory::Place *RankMemory::placeBefore(uint32_t region,
                                                 uint64_t offset) const {
  auto at = std::upper_bound(
      places_.begin(), places_.end(), std::pair(region, offset),
      [](const auto &key, const Place &place) {
        return key < std::pair(place.range.region(), place.range.offset());
      });
  if (at == places_.begin() || std::prev(at)->range.region() != region)
    return nullptr;
  return &*std::prev(at);
}

uint64_t RankMemory::offsetOf(uint32_t region, uint64_t offset) const {
  const Place *place = placeBefore(region, offset);
  return place ? place->after +
                     (offset - place->range.offset() - place->range.bytes())
               : offset;
}

std::optional<RankMemory::Part>
RankMemory::partOf(uint32_t region, uint64_t offset, uint64_t bytes) const {
  const Place *place = placeBefore(region, offset);
  if (!place || offset >= place->range.offset() + place->range.bytes())
    return std::nullopt;
  Part part;
  const uint64_t begin = offset - place->range.offset(), end = begin + bytes;
  uint64_t from = 0;
  for (const size_t piece : piecesOf(place->range, shares_)) {
    const uint64_t low = std::clamp(from, begin, end),
                   high = std::clamp(from + piece, begin, end);
    if (part.pieces.size() == static_cast<size_t>(share())) {
      part.skipped = low - begin;
      part.offset = place->local + (low - std::min(low, from));
      part.bytes = high - low;
    }
    part.pieces.push_back(high - low);
    from += piece;
  }
  return part;
}

template <class Move>
void RankMemory::forEach(const plan::Program &program, CommandSpec &spec,
                         Move move) const {
  const auto visit = [&](const auto &ids, std::vector<Operand> &operands) {
    for (size_t i = 0; i < operands.size(); ++i) {
      const plan::Buffer &buffer =
          program.buffers(static_cast<int>(ids[static_cast<int>(i)]));
      move(buffer, placeBefore(buffer.region(), buffer.offset()), operands[i]);
    }
  };
  visit(spec.command.inputs(), spec.inputs);
  visit(spec.command.outputs(), spec.outputs);
}

void RankMemory::relocate(const plan::Buffer &buffer, bool isNone,
                          Operand &operand,
                          std::deque<plan::TensorType> &types) const {
  const auto part = partOf(buffer.region(), buffer.offset(),
                           plan::bytesOf(buffer.type()).value_or(0));
  const uint64_t to =
      part ? part->offset : offsetOf(buffer.region(), buffer.offset());
  operand.data +=
      static_cast<int64_t>(to) - static_cast<int64_t>(buffer.offset());
  if (!part)
    return;
  plan::TensorType &type = types.emplace_back();
  type.set_dtype(buffer.type().dtype());
  type.add_shape(static_cast<int64_t>(
      isNone ? 0
             : part->bytes / sizeOf(*plan::dtypeOf(buffer.type().dtype()))));
  operand.type = &type;
}

CommandSpec RankMemory::localise(const plan::Program &program,
                                 const plan::Command &command,
                                 std::deque<plan::Command> &own,
                                 std::deque<plan::TensorType> &types) const {
  const bool isShared = !isWhole() && itemOfKernel(command) != 0;
  if (!isShared || plan::takesElements(command))
    return narrow(program, command, types);
  CommandSpec spec = specOf(program, command, regions_);
  plan::Items items;
  forEach(
      program, spec,
      [&](const plan::Buffer &buffer, const Place *place, Operand &operand) {
        if (!place)
          return;
        const bool inside = buffer.offset() == place->range.offset();
        if (inside)
          items = place->items;
        // Kernels index items from the first item of all ranks.
        const int64_t to =
            inside ? static_cast<int64_t>(place->local) -
                         place->items.first *
                             static_cast<int64_t>(place->range.item_bytes())
                   : static_cast<int64_t>(
                         offsetOf(buffer.region(), buffer.offset()));
        operand.data += to - static_cast<int64_t>(buffer.offset());
      });
  plan::Command &mine = own.emplace_back(command);
  for (plan::Attribute &attribute : *mine.mutable_attributes())
    if (attribute.name() == "extent")
      attribute.set_i(items.last - items.first);
  plan::Attribute *first = mine.add_attributes();
  first->set_name("first");
  first->set_i(items.first);
  return {mine, std::move(spec.inputs), std::move(spec.outputs)};
}

CommandSpec RankMemory::narrow(const plan::Program &program,
                               const plan::Command &command,
                               std::deque<plan::TensorType> &types) const {
  CommandSpec spec = specOf(program, command, regions_);
  const int64_t item = itemOfKernel(command);
  if (isWhole())
    return spec;
  if (!item) {
    const bool isNone = isCopy() && plan::sumsParts(command);
    forEach(program, spec,
            [&](const plan::Buffer &buffer, const Place *, Operand &operand) {
              relocate(buffer, isNone, operand, types);
            });
    return spec;
  }
  const plan::Items items =
      plan::itemsOf(plan::intAttribute(command, "extent", 0), share(), shares_);
  forEach(
      program, spec,
      [&](const plan::Buffer &buffer, const Place *place, Operand &operand) {
        const bool inside = place && buffer.offset() == place->range.offset();
        const uint64_t to =
            inside ? place->local : offsetOf(buffer.region(), buffer.offset());
        operand.data +=
            static_cast<int64_t>(to) - static_cast<int64_t>(buffer.offset());
        if (buffer.type().shape().empty())
          return;
        const auto count =
            static_cast<int64_t>(*checkedElements(buffer.type().shape()));
        const auto size =
            static_cast<int64_t>(sizeOf(*plan::dtypeOf(buffer.type().dtype())));
        const int64_t begin = std::min(items.first * item, count),
                      end = std::min(items.last * item, count);
        if (!inside)
          operand.data += begin * size;
        plan::TensorType &type = types.emplace_back();
        type.set_dtype(buffer.type().dtype());
        type.add_shape(end - begin);
        operand.type = &type;
      });
  return spec;
}

// -1 if no program has scratch memory.
static int scratchRegion(const plan::Plan &plan) {
  for (int i = 0; i < plan.regions_size(); ++i)
    if (plan.regions(i).kind() == plan::Region::SCRATCH)
      return i;
  return -1;
}

bool needsMoreScratch(const plan::Plan &plan, const plan::Program &program) {
  const int region = scratchRegion(plan);
  return region >= 0 && program.scratch_bytes() > plan.regions(region).bytes();
}

Result<RankMemory> withScratch(const RankMemory &memory, const plan::Plan &plan,
                               uint64_t bytes, Device &device,
                               const std::string &name) {
  RankMemory other = memory;
  if (const int region = scratchRegion(plan); region >= 0) {
    DLC_ASSIGN(std::byte *const data, device.allocate(bytes, name));
    other.setRegion(region, data);
  }
  return other;
}

} // namespace dlc
