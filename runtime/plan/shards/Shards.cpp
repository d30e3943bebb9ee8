// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/shards/Shards.h"

#include "runtime/plan/Attributes.h"
#include "runtime/plan/Types.h"

#include <algorithm>
#include <map>
#include <set>

namespace dlc::plan {

Items itemsOf(int64_t extent, int rank, int ranks) {
  const auto at = [&](int64_t r) { // extent * r / ranks, without overflow
    return extent / ranks * r + extent % ranks * r / ranks;
  };
  return {at(rank), at(rank + 1)};
}

std::vector<size_t> piecesOf(uint64_t bytes, int64_t extent, uint64_t item,
                             int ranks) {
  std::vector<size_t> pieces;
  for (int rank = 0; rank < ranks; ++rank) {
    const Items own = itemsOf(extent, rank, ranks);
    const auto at = [&](int64_t i) {
      return std::min(bytes, static_cast<uint64_t>(i) * item);
    };
    pieces.push_back(at(own.last) - at(own.first));
  }
  return pieces;
}

static bool isScatter(const Command &command) {
  return command.kind() == "reduce_scatter";
}

int64_t shardOf(const Command &command) {
  return command.kind() == "kernel" ? intAttribute(command, "shard", 0) : 0;
}

bool takesElements(const Command &command) {
  return intAttribute(command, "vector", 0) != 0;
}

bool gathersElsewhere(const Command &command) {
  return command.kind() == "all_gather" && command.inputs_size() == 1 &&
         command.outputs_size() == 1 && command.inputs(0) != command.outputs(0);
}

bool takesParts(const Command &command) {
  return command.kind() == "wait" || intAttribute(command, "parts", 0) != 0;
}

namespace {

class Finder {
public:
  explicit Finder(const Plan &plan)
      : plan_(plan), may_(static_cast<size_t>(plan.regions_size())) {
    for (const State &state : plan.states())
      if (state.role() == "moment" || state.role() == "ema")
        may_[state.region()] = May::All;
    for (const Program &program : plan.programs())
      for (const Command &command : program.commands())
        note(program, command);
  }

  Result<std::vector<ShardedRange>> run() {
    forEachOperand([&](const Command &command, const Buffer &buffer) {
      const int64_t item = isScatter(command) || gathersElsewhere(command)
                               ? intAttribute(command, "shard", 0)
                               : shardOf(command);
      return item && !buffer.type().shape().empty() && mayBePart(buffer)
                 ? add(command, buffer, item)
                 : Status();
    });
    DLC_TRY(status_);
    DLC_TRY(checkApart());
    if (!found_.empty())
      forEachOperand([&](const Command &command, const Buffer &buffer) {
        return shardOf(command) || isScatter(command) ||
                       gathersElsewhere(command) || takesParts(command)
                   ? Status()
                   : checkWhole(command, buffer);
      });
    DLC_TRY(status_);
    for (const State &state : plan_.states())
      DLC_TRY(checkInside(state));
    std::vector<ShardedRange> ranges;
    for (const auto &[place, range] : found_)
      ranges.push_back(range);
    return ranges;
  }

private:
  using Key = std::pair<uint32_t, uint64_t>; // region, offset
  // What of a region may be in parts.
  enum class May { Nothing, Gathered, All };

  // Gradients are in parts in the region that the plan scatters them to, and
  // parameters where it gathers them from.
  void note(const Program &program, const Command &command) {
    const auto bufferOf = [&](uint32_t id) -> const Buffer & {
      return program.buffers(static_cast<int>(id));
    };
    if (isScatter(command))
      for (uint32_t id : command.outputs())
        may_[bufferOf(id).region()] = May::All;
    if (!gathersElsewhere(command))
      return;
    const Buffer &from = bufferOf(command.inputs(0));
    gathered_.insert({from.region(), from.offset()});
    may_[from.region()] = std::max(may_[from.region()], May::Gathered);
  }
  bool mayBePart(const Buffer &buffer) const {
    return may_[buffer.region()] == May::All ||
           gathered_.count({buffer.region(), buffer.offset()});
  }

  // Of the regions that may be in parts; until the first error.
  template <class Visit> void forEachOperand(Visit visit) {
    for (const Program &program : plan_.programs())
      for (const Command &command : program.commands())
        for (const auto *ids : {&command.inputs(), &command.outputs()})
          for (uint32_t id : *ids) {
            const Buffer &buffer = program.buffers(static_cast<int>(id));
            if (status_.ok() && may_[buffer.region()] != May::Nothing)
              status_ = visit(command, buffer);
          }
  }

  Status add(const Command &command, const Buffer &buffer, int64_t item) {
    ShardedRange range;
    range.region = buffer.region();
    range.offset = buffer.offset();
    range.bytes = bytesOf(buffer.type()).value_or(0);
    range.extent = intAttribute(command, "extent", 0);
    range.item = static_cast<uint64_t>(item) *
                 dlc::sizeOf(*dtypeOf(buffer.type().dtype()));
    if (item < 0 || range.extent < 1 ||
        range.bytes > static_cast<uint64_t>(range.extent) * range.item)
      return corrupt("'{}': {} items of {} elements are not all of its range",
                     command.label(), range.extent, item);
    const auto [at, isNew] =
        found_.try_emplace({range.region, range.offset}, range);
    const ShardedRange &same = at->second;
    if (same.bytes != range.bytes || same.extent != range.extent ||
        same.item != range.item)
      return corrupt("'{}' shares out a range of states in another way than "
                     "the kernel before",
                     command.label());
    return {};
  }

  Status checkApart() const {
    const ShardedRange *last = nullptr;
    for (const auto &[place, range] : found_) {
      if (last && last->region == range.region &&
          last->offset + last->bytes > range.offset)
        return corrupt("states at {} and {} of region '{}' are shared out in "
                       "two ways",
                       last->offset, range.offset,
                       plan_.regions(static_cast<int>(range.region)).name());
      last = &range;
    }
    return {};
  }

  Status checkWhole(const Command &command, const Buffer &buffer) const {
    auto at = found_.lower_bound(
        {buffer.region(),
         buffer.offset() + bytesOf(buffer.type()).value_or(0)});
    if (at == found_.begin())
      return {};
    const ShardedRange &before = std::prev(at)->second;
    return before.region == buffer.region() &&
                   before.offset + before.bytes > buffer.offset()
               ? corrupt("'{}' uses states of which each rank has a part",
                         command.label())
               : Status();
  }

  // All of a state is in one range, or none.
  Status checkInside(const State &state) const {
    const uint64_t end = state.offset() + bytesOf(state.type()).value_or(0);
    auto at = found_.lower_bound({state.region(), end});
    if (at == found_.begin())
      return {};
    const ShardedRange &range = std::prev(at)->second;
    if (range.region != state.region() ||
        range.offset + range.bytes <= state.offset() ||
        (range.offset <= state.offset() && end <= range.offset + range.bytes))
      return {};
    return corrupt("state '{}' is shared out in part", state.name());
  }

  const Plan &plan_;
  std::vector<May> may_; // by region
  std::set<Key> gathered_;
  std::map<Key, ShardedRange> found_;
  Status status_;
};

} // namespace

Result<std::vector<ShardedRange>> shardedRanges(const Plan &plan) {
  return Finder(plan).run();
}

} // namespace dlc::plan
