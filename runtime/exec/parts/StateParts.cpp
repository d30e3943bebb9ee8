// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/parts/StateParts.h"
#include "runtime/plan/Types.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace dlc {

static uint64_t bytesOf(const plan::State &state) {
  return plan::bytesOf(state.type()).value_or(0);
}

std::optional<RankMemory::Part>
StateParts::partOf(const plan::State &state) const {
  return memory_.partOf(state.region(), state.offset(), bytesOf(state));
}

void StateParts::dropChanged(const plan::Plan &plan,
                             const plan::Program &program) {
  const auto [known, isNew] = changes_.try_emplace(&program, false);
  if (isNew)
    known->second = changes(plan, program);
  if (known->second)
    drop();
}

bool StateParts::changes(const plan::Plan &plan,
                         const plan::Program &program) const {
  std::set<uint32_t> regions;
  for (const plan::State &state : plan.states())
    if (isApart(state))
      regions.insert(state.region());
  return std::ranges::any_of(program.commands(), [&](const auto &command) {
    return std::ranges::any_of(command.outputs(), [&](uint32_t id) {
      return regions.contains(program.buffers(static_cast<int>(id)).region());
    });
  });
}

StateParts::Range StateParts::rangeOf(const plan::State &state) const {
  const auto part = partOf(state);
  return part && memory_.isCopy() ? Range{}
         : part ? Range{part->skipped, part->skipped + part->bytes}
                : Range{0, bytesOf(state)};
}

Result<TensorView> StateParts::fetch(const plan::State &state, Range range,
                                     std::vector<std::byte> &copy) {
  const auto part = partOf(state);
  std::byte *const data =
      part ? memory_.region(state.region()) + part->offset +
                 (range.begin - part->skipped)
           : memory_.at(state.region(), state.offset()) + range.begin;
  const uint64_t bytes = range.end - range.begin;
  if (std::byte *const host = device_.hostPointer(data))
    return TensorView{&state.type(), host, bytes};
  copy.resize(bytes);
  DLC_TRY(device_.download(copy.data(), data, bytes));
  return TensorView{&state.type(), copy.data(), bytes};
}

Status StateParts::gather(const plan::State &state, Communicator &communicator,
                          bool keep) {
  if (isOwn(state)) {
    const size_t bytes = bytesOf(state);
    const std::vector<size_t> pieces(static_cast<size_t>(memory_.ranks()),
                                     bytes);
    std::vector<std::byte> all(pieces.size() * bytes);
    DLC_TRY(device_.download(
        all.data() + static_cast<size_t>(memory_.rank()) * bytes,
        memory_.at(state.region(), state.offset()), bytes));
    DLC_TRY(communicator.allGather(all.data(), pieces));
    if (keep)
      wholes_[state.name()] = std::move(all);
    return {};
  }
  const RankMemory::Part part = *partOf(state);
  std::vector<std::byte> whole(bytesOf(state));
  if (part.bytes > 0)
    DLC_TRY(device_.download(whole.data() + part.skipped,
                             memory_.region(state.region()) + part.offset,
                             part.bytes));
  DLC_TRY(communicator.allGather(whole.data(), part.pieces));
  if (keep)
    wholes_[state.name()] = std::move(whole);
  return {};
}

Result<TensorView> StateParts::ofRanks(const plan::State &state,
                                       std::vector<std::byte> &copy) {
  if (memory_.ranks() == 1)
    return fetch(state, {0, bytesOf(state)}, copy);
  const auto all = wholes_.find(state.name());
  if (all == wholes_.end())
    return unknown(state);
  return TensorView{&state.type(), all->second.data(), all->second.size()};
}

Status StateParts::uploadOwn(const plan::State &state, const std::byte *from) {
  return device_.upload(memory_.at(state.region(), state.offset()), from,
                        bytesOf(state));
}

Status StateParts::writeOfRanks(const plan::State &state, const std::byte *from,
                                int ranks) {
  const size_t bytes = bytesOf(state);
  std::vector<std::byte> all;
  if (ranks == memory_.ranks()) {
    all.assign(from, from + bytes * static_cast<size_t>(ranks));
  } else {
    std::vector<double> sum(bytes / sizeof(float));
    for (int rank = 0; rank < ranks; ++rank)
      for (size_t i = 0; i < sum.size(); ++i) {
        float value;
        std::memcpy(&value,
                    from + static_cast<size_t>(rank) * bytes +
                        i * sizeof(float),
                    sizeof value);
        sum[i] += value;
      }
    std::vector<float> mean(sum.size());
    for (size_t i = 0; i < sum.size(); ++i)
      mean[i] = static_cast<float>(sum[i] / ranks);
    const auto *data = reinterpret_cast<const std::byte *>(mean.data());
    for (int rank = 0; rank < memory_.ranks(); ++rank)
      all.insert(all.end(), data, data + bytes);
  }
  DLC_TRY(uploadOwn(state,
                    all.data() + static_cast<size_t>(memory_.rank()) * bytes));
  if (keeps_ && memory_.ranks() > 1)
    wholes_[state.name()] = std::move(all);
  return {};
}

std::vector<int64_t> StateParts::shapeOfRanks(const plan::State &state,
                                              int ranks) {
  std::vector<int64_t> shape = plan::shapeOf(state.type());
  shape.insert(shape.begin(), ranks);
  return shape;
}

Status StateParts::shareOfRanks(const plan::State &state,
                                Communicator &communicator) {
  if (memory_.ranks() == 1)
    return {};
  std::vector<std::byte> all;
  if (const auto kept = wholes_.find(state.name());
      communicator.rank() == 0 && kept != wholes_.end())
    all = std::move(kept->second);
  wholes_.erase(state.name());
  all.resize(bytesOf(state) * static_cast<size_t>(memory_.ranks()));
  DLC_TRY(communicator.broadcast(all.data(), all.size(), 0));
  return uploadOwn(state, all.data() + static_cast<size_t>(memory_.rank()) *
                                           bytesOf(state));
}

Status StateParts::write(const plan::State &state, const std::byte *from) {
  const RankMemory::Part part = *partOf(state);
  if (keeps_)
    wholes_[state.name()].assign(from, from + bytesOf(state));
  if (part.bytes == 0)
    return {};
  return device_.upload(memory_.region(state.region()) + part.offset,
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
