// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/session/EqualRanks.h"

#include "runtime/base/numbers/Hash.h"
#include "runtime/base/options/Environment.h"
#include "runtime/exec/parts/StateParts.h"
#include "runtime/train/Agree.h"

#include <algorithm>
#include <fmt/ranges.h>
#include <map>

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

} // namespace dlc
