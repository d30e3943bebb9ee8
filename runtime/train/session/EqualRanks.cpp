// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/session/EqualRanks.h"

#include "runtime/base/numbers/FloatCast.h"
#include "runtime/base/numbers/Hash.h"
#include "runtime/base/options/Environment.h"
#include "runtime/exec/parts/StateParts.h"
#include "runtime/plan/Types.h"
#include "runtime/train/Agree.h"
#include "runtime/train/session/State.h"

#include <algorithm>
#include <cstring>
#include <fmt/ranges.h>
#include <map>
#include <set>

namespace dlc {

Result<EqualRanks> EqualRanks::make(Executor &executor,
                                    Communicator &communicator) {
  EqualRanks ranks(executor, communicator);
  DLC_ASSIGN(const StateParts *const parts, executor.parts());
  for (const plan::State &state : executor.plan().states())
    if ((state.role() == "param" || state.role() == "moment") &&
        !parts->isPart(state))
      ranks.names_.push_back(state.name());
  // By agreement: a rank that ended would be lost to the others first.
  DLC_TRY(
      agree(communicator,
            ranks.names_.empty()
                ? usageError(
                      "--check-ranks: with --zero=3 each rank has its own part "
                      "of every parameter, and there is nothing to compare")
                : Status()));
  return ranks;
}

Result<std::vector<uint64_t>> EqualRanks::hashes() {
  std::vector<uint64_t> hashes;
  std::vector<std::byte> copy;
  for (const std::string &name : names_) {
    DLC_ASSIGN(const TensorView view, executor_.fetchState(name, copy));
    const std::string hash =
        hashBytes({static_cast<const std::byte *>(view.data), view.bytes});
    hashes.push_back(std::stoull(hash.substr(0, 16), nullptr, 16));
  }
  if (environment::flippedRank() == communicator_.rank() &&
      !std::exchange(isTried_, true))
    hashes[0] ^= 1; // simulates a flipped bit of the first tensor
  return hashes;
}

Status EqualRanks::check(int64_t step) {
  if (communicator_.size() == 1)
    return {};
  DLC_ASSIGN(std::vector<uint64_t> own, hashes());
  const std::string text = hashBytes(std::as_bytes(std::span(own)));
  DLC_ASSIGN(const auto all, communicator_.allGather(text));
  if (std::ranges::count(all, all[0]) == std::ssize(all))
    return {};
  return agree(communicator_, describe(step, all, std::move(own)));
}

Status EqualRanks::describe(int64_t step, const std::vector<std::string> &all,
                            std::vector<uint64_t> hashes) {
  std::map<std::string, std::vector<int>> groups;
  for (size_t rank = 0; rank < all.size(); ++rank)
    groups[all[rank]].push_back(int(rank));
  const auto most = std::ranges::max_element(
      groups, {}, [](const auto &group) { return group.second.size(); });
  const bool isKnown = 2 * most->second.size() > all.size();
  std::vector<int> apart;
  for (const auto &[hash, ranks] : groups)
    if (!isKnown || hash != most->first)
      apart.insert(apart.end(), ranks.begin(), ranks.end());
  std::ranges::sort(apart);

  const size_t count = names_.size();
  std::vector<uint64_t> table(all.size() * count);
  std::ranges::copy(hashes,
                    table.begin() + static_cast<std::ptrdiff_t>(
                                        size_t(communicator_.rank()) * count));
  const std::vector<size_t> pieces(all.size(), count * sizeof(uint64_t));
  DLC_TRY(communicator_.allGather(table.data(), pieces));
  std::vector<std::string> tensors;
  for (size_t i = 0; i < count; ++i)
    for (size_t rank = 1; rank < all.size(); ++rank)
      if (table[rank * count + i] != table[i]) {
        tensors.push_back(names_[i]);
        break;
      }
  return failed(
      "step {}: rank{} {} {}, in {} of {} tensors, '{}' first; a memory or a "
      "device computes wrongly, or a custom operator differs by rank. `dlc "
      "train --resume=RUN` continues from the newest checkpoint, at which all "
      "ranks agreed",
      step, apart.size() == 1 ? "" : "s", fmt::join(apart, ", "),
      isKnown
          ? fmt::format("{} other weights than the other {} ranks",
                        apart.size() == 1 ? "has" : "have", most->second.size())
          : "have different weights",
      tensors.size(), count, tensors.empty() ? "" : tensors[0]);
}

namespace {

using States = std::vector<const plan::State *>;

// Buffers and their averages.
States gatheredStates(const plan::Plan &plan) {
  std::set<std::string_view> buffers;
  for (const plan::State &state : plan.states())
    if (state.role() == "buffer")
      buffers.insert(state.name());
  States gathered;
  for (const plan::State &state : plan.states())
    if (state.role() == "buffer" ||
        (state.role() == "ema" && buffers.count(state.of())))
      gathered.push_back(&state);
  return gathered;
}

DType typeOf(const plan::State &state) {
  return *plan::dtypeOf(state.type().dtype());
}

// All in one message.
Status average(Executor &executor, Communicator &communicator,
               const States &states) {
  std::vector<double> sums;
  std::vector<std::byte> bytes;
  for (const plan::State *state : states) {
    const DType type = typeOf(*state);
    bytes.resize(plan::bytesOf(state->type()).value_or(0));
    DLC_TRY(executor.readState(state->name(), bytes.data(), bytes.size()));
    const size_t count = bytes.size() / sizeOf(type), first = sums.size();
    const auto wide = castFloats(bytes.data(), count, type, DType::F64);
    sums.resize(first + count);
    std::memcpy(sums.data() + first, wide.data(), wide.size());
  }
  DLC_TRY(communicator.allReduce(sums.data(), sums.size(), DType::F64,
                                 ReduceOp::Sum));
  for (double &sum : sums)
    sum /= communicator.size();
  const double *from = sums.data();
  for (const plan::State *state : states) {
    const DType type = typeOf(*state);
    const size_t count =
        plan::bytesOf(state->type()).value_or(0) / sizeOf(type);
    const auto rounded = castFloats(from, count, DType::F64, type);
    DLC_TRY(executor.writeState(state->name(), rounded.data(), rounded.size()));
    from += count;
  }
  return {};
}

} // namespace

Status settleBuffers(Executor &executor, Communicator &communicator,
                     BufferMode mode) {
  if (communicator.size() == 1)
    return {};
  States states = gatheredStates(executor.plan());
  if (mode == BufferMode::Mean) {
    const auto others =
        std::stable_partition(states.begin(), states.end(), [](auto *state) {
          return isFloat(typeOf(*state));
        });
    DLC_TRY(average(executor, communicator, {states.begin(), others}));
    states.erase(states.begin(), others);
  }
  return broadcastStates(executor, communicator, states);
}

} // namespace dlc
