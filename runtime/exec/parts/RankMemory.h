// SPDX-License-Identifier: Apache-2.0
// The memory of a plan on one rank: addresses of regions, the rank's parts of
// states that are split over ranks, and its part of the work of kernels that
// compute them.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/device/Operands.h"
#include "runtime/plan/parts/RankItems.h"

#include <deque>
#include <optional>
#include <vector>

namespace dlc {

// With one rank, memory is as in the plan.
class RankMemory {
public:
  // `plan` must have been verified; allocates nothing. Each `group` consecutive
  // ranks split the states, so each group has all of them; 0: all ranks do.
  RankMemory(const plan::Plan &plan, int rank, int ranks, int group = 0);

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  // The rank's index in its group, and the size of the group.
  int share() const { return rank_ % shares_; }
  int shares() const { return shares_; }
  // Whether a rank of the first group has the same parts.
  bool isCopy() const { return rank_ >= shares_; }
  bool isWhole() const { return places_.empty(); }
  uint64_t bytesOf(int region) const { return bytes_[region]; }
  void setRegion(int region, std::byte *data) { regions_[region] = data; }
  std::byte *region(int region) const { return regions_[region]; }

  // The address of a range of a region that is not split.
  std::byte *at(uint32_t region, uint64_t offset) const {
    return regions_[region] + offsetOf(region, offset);
  }
  Operand operand(const plan::Program &program, uint32_t buffer) const {
    return operandOf(program, buffer, regions_);
  }

  // This rank's part of a range of bytes within one range that is split: bytes
  // of the range before it, its offset in memory, and its size; and the size of
  // each rank's part in the group.
  struct Part {
    uint64_t skipped = 0, offset = 0, bytes = 0;
    std::vector<size_t> pieces;
  };
  // Nullopt if they are whole.
  std::optional<Part> partOf(uint32_t region, uint64_t offset,
                             uint64_t bytes) const;

  // `command` with the addresses of its operands. A kernel that works on items
  // gets this rank's items: `own` stores its command. Operands of other
  // commands in split ranges become this rank's part, with one dimension:
  // `types` stores their types. If the command sums parts over all ranks, ranks
  // of further groups have empty parts.
  CommandSpec localise(const plan::Program &program,
                       const plan::Command &command,
                       std::deque<plan::Command> &own,
                       std::deque<plan::TensorType> &types) const;
  // The same for a reader of the operands: only the elements that this rank
  // has. `types` stores their types.
  CommandSpec narrow(const plan::Program &program, const plan::Command &command,
                     std::deque<plan::TensorType> &types) const;

private:
  struct Place {
    plan::Part range;
    plan::Items items;     // this rank's
    uint64_t local = 0;    // offset of the first of them
    uint64_t ownBytes = 0; // their size
    uint64_t after = 0;    // offset of what follows the range
  };
  uint64_t offsetOf(uint32_t region, uint64_t offset) const;
  const Place *placeBefore(uint32_t region, uint64_t offset) const;
  // Sets the operand's address, as a whole or as this rank's part.
  void relocate(const plan::Buffer &buffer, bool isNone, Operand &operand,
                std::deque<plan::TensorType> &types) const;
  template <class Move>
  void forEach(const plan::Program &program, CommandSpec &spec,
               Move move) const;

  int rank_, ranks_, shares_;
  std::vector<Place> places_; // by region and offset
  std::vector<uint64_t> bytes_;
  std::vector<std::byte *> regions_;
};

// Whether `program` needs more scratch memory than the plan's region has, as a
// program for inference that is not part of a step may.
bool needsMoreScratch(const plan::Plan &plan, const plan::Program &program);

// `memory` with `bytes` bytes of scratch memory on `device` instead of its own.
Result<RankMemory> withScratch(const RankMemory &memory, const plan::Plan &plan,
                               uint64_t bytes, Device &device,
                               const std::string &name);

} // namespace dlc
