// SPDX-License-Identifier: Apache-2.0
// The memory of a plan on one rank: where its regions are, where the rank keeps
// its part of the states that ranks share out, and which part of a kernel's
// work that makes its own.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/device/Operands.h"
#include "runtime/plan/parts/RankItems.h"

#include <deque>
#include <optional>
#include <vector>

namespace dlc {

// One rank alone has all of everything: its memory is as the plan says.
class RankMemory {
public:
  // Of a plan that was verified; nothing is allocated yet. Each `group` ranks
  // that follow each other share out everything, so that each group has all of
  // it; 0: all ranks do.
  RankMemory(const plan::Plan &plan, int rank, int ranks, int group = 0);

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  // Of this rank's group: its number in it, and how many it has.
  int share() const { return rank_ % shares_; }
  int shares() const { return shares_; }
  // Whether ranks of the first group have the same parts.
  bool isCopy() const { return rank_ >= shares_; }
  bool isWhole() const { return places_.empty(); }
  uint64_t bytesOf(int region) const { return bytes_[region]; }
  void setRegion(int region, std::byte *data) { regions_[region] = data; }
  std::byte *region(int region) const { return regions_[region]; }

  // Where a range of a region is that is nowhere in parts.
  std::byte *at(uint32_t region, uint64_t offset) const {
    return regions_[region] + offsetOf(region, offset);
  }
  Operand operand(const plan::Program &program, uint32_t buffer) const {
    return operandOf(program, buffer, regions_);
  }

  // This rank's part of some bytes of a region that lie in one range that is
  // shared out: the first of them that it has, where, how many; and how many
  // each rank of the group has.
  struct Part {
    uint64_t skipped = 0, offset = 0, bytes = 0;
    std::vector<size_t> pieces;
  };
  // Null if they are whole.
  std::optional<Part> partOf(uint32_t region, uint64_t offset,
                             uint64_t bytes) const;

  // `command` with its operands where they are here.
  // A kernel that works in items does this rank's: `own` keeps its command. Of
  // other commands' operands in shared ranges it is this rank's part, of one
  // dimension: `types` keeps its type. Of what sums up parts over all ranks, a
  // copy has nothing.
  CommandSpec localise(const plan::Program &program,
                       const plan::Command &command,
                       std::deque<plan::Command> &own,
                       std::deque<plan::TensorType> &types) const;
  // The same for who looks at the operands: only the elements that this rank
  // has. `types` keeps theirs.
  CommandSpec narrow(const plan::Program &program, const plan::Command &command,
                     std::deque<plan::TensorType> &types) const;

private:
  struct Place {
    plan::Part range;
    plan::Items items;     // this rank's
    uint64_t local = 0;    // where the first of them is
    uint64_t ownBytes = 0; // of them all
    uint64_t after = 0;    // where what follows the range goes on
  };
  uint64_t offsetOf(uint32_t region, uint64_t offset) const;
  const Place *placeBefore(uint32_t region, uint64_t offset) const;
  // An operand as it is here: whole, or this rank's part.
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

// Whether `program` needs more scratch memory than the plan's region has: it
// predicts and is no part of a step.
bool needsMoreScratch(const plan::Plan &plan, const plan::Program &program);

// `memory` with so many bytes of scratch memory on `device` in place of its
// own.
Result<RankMemory> withScratch(const RankMemory &memory, const plan::Plan &plan,
                               uint64_t bytes, Device &device,
                               const std::string &name);

} // namespace dlc
