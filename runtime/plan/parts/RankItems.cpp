// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/parts/RankItems.h"

#include "runtime/base/numbers/Checked.h"
#include "runtime/plan/Artifact.h"
#include "runtime/plan/Attributes.h"
#include "runtime/plan/Types.h"

#include <algorithm>

namespace dlc::plan {

Items itemsOf(int64_t extent, int rank, int ranks) {
  const auto at = [&](int64_t r) { // extent * r / ranks, without overflow
    return extent / ranks * r + extent % ranks * r / ranks;
  };
  return {at(rank), at(rank + 1)};
}

Status checkGroup(const Plan &plan, const std::string &path,
                  std::string_view given, int64_t group, int64_t ranks) {
  if (group != 0 && plan.parts_size() == 0)
    return usageError("--zero-group={}: no state of '{}' has shards: compile "
                      "it with --zero=1 and an optimizer that has moments, or "
                      "with --zero=3",
                      given, path);
  if (group != 0 && ranks % group != 0)
    return usageError("--zero-group={} does not divide {} ranks: use a "
                      "divisor, or --zero-group=0, which shards over all ranks",
                      group, ranks);
  return {};
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

int64_t itemOf(const Command &command) {
  return intAttribute(command, "shard", 0);
}

bool takesElements(const Command &command) {
  return intAttribute(command, "vector", 0) != 0;
}

bool gathersElsewhere(const Command &command) {
  return command.kind() == "all_gather" && command.inputs_size() == 1 &&
         command.outputs_size() == 1 && command.inputs(0) != command.outputs(0);
}

bool sumsParts(const Command &command) {
  return intAttribute(command, "parts", 0) != 0;
}

// Whether it works on any part of its operands.
static bool takesParts(const Command &command) {
  return command.kind() == "wait" || sumsParts(command);
}

namespace {

class PartChecker {
public:
  explicit PartChecker(const Plan &plan) : plan_(plan) {}

  Status run() {
    for (int i = 0; i < plan_.parts_size(); ++i)
      DLC_TRY(checkPart(i));
    for (const State &state : plan_.states()) {
      const uint64_t bytes = bytesOf(state.type()).value_or(0);
      if (const Part *part = partIn(state.region(), state.offset(), bytes);
          part && (part->offset() > state.offset() ||
                   endOf(*part) < state.offset() + bytes))
        return corrupt("state '{}' is shared out in part", state.name());
    }
    for (const Program &program : plan_.programs())
      for (const Command &command : program.commands())
        DLC_TRY(checkCommand(program, command));
    return {};
  }

private:
  static uint64_t endOf(const Part &part) {
    return part.offset() + part.bytes();
  }

  Status checkPart(int i) const {
    const Part &part = plan_.parts(i);
    if (part.region() >= static_cast<uint32_t>(plan_.regions_size()))
      return corrupt("a part is in region {} of {}", part.region(),
                     plan_.regions_size());
    const Region &home = plan_.regions(static_cast<int>(part.region()));
    const auto end = checkedAdd(part.offset(), part.bytes());
    const Part *before = i ? &plan_.parts(i - 1) : nullptr;
    if (!end || *end > home.bytes() ||
        (before && std::pair(before->region(), endOf(*before)) >
                       std::pair(part.region(), part.offset())))
      return corrupt("a part at {} of region '{}' is outside of it, or not "
                     "behind the one before",
                     part.offset(), home.name());
    const auto most =
        checkedMul(static_cast<uint64_t>(part.extent()), part.item_bytes());
    if (part.extent() < 1 || part.item_bytes() < 1 ||
        (most && part.bytes() > *most))
      return corrupt("a part at {} of region '{}' has {} bytes in {} items of "
                     "{}, which are not all of it",
                     part.offset(), home.name(), part.bytes(), part.extent(),
                     part.item_bytes());
    return {};
  }

  // The last part that overlaps a range of a region.
  const Part *partIn(uint32_t region, uint64_t offset, uint64_t bytes) const {
    const auto &parts = plan_.parts();
    auto at = std::lower_bound(
        parts.begin(), parts.end(), std::pair(region, offset + bytes),
        [](const Part &part, const auto &key) {
          return std::pair(part.region(), part.offset()) < key;
        });
    if (at == parts.begin())
      return nullptr;
    const Part &part = *std::prev(at);
    return part.region() == region && endOf(part) > offset ? &part : nullptr;
  }

  Status checkCommand(const Program &program, const Command &command) const {
    const int64_t item = itemOf(command);
    if (item && plan_.parts_size() == 0)
      return incompatible("'{}' is divided among ranks as by an early version, "
                          "this is dlc {}: compile the model again",
                          command.label(), dlcVersion());
    for (const auto *ids : {&command.inputs(), &command.outputs()})
      for (uint32_t id : *ids) {
        const Buffer &buffer = program.buffers(static_cast<int>(id));
        const uint64_t bytes = bytesOf(buffer.type()).value_or(0);
        const Part *part = partIn(buffer.region(), buffer.offset(), bytes);
        if (part && !takesParts(command))
          DLC_TRY(checkUse(command, item, buffer, *part));
      }
    return {};
  }

  // A kernel or collective of parts must cover a whole part.
  static Status checkUse(const Command &command, int64_t item,
                         const Buffer &buffer, const Part &part) {
    if (!item)
      return corrupt("'{}' uses states of which each rank has a part",
                     command.label());
    const uint64_t itemBytes =
        static_cast<uint64_t>(item) * sizeOf(*dtypeOf(buffer.type().dtype()));
    if (buffer.offset() != part.offset() ||
        bytesOf(buffer.type()) != part.bytes() ||
        itemBytes != part.item_bytes() ||
        intAttribute(command, "extent", 0) != part.extent())
      return corrupt("'{}' shares out a range of states in another way than "
                     "the plan says",
                     command.label());
    return {};
  }

  const Plan &plan_;
};

} // namespace

Status checkParts(const Plan &plan) { return PartChecker(plan).run(); }

} // namespace dlc::plan
