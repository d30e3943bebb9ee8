// SPDX-License-Identifier: Apache-2.0
// Where a rank keeps its part of the states that ranks share out, and which
// part of a kernel's work that makes its own.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/plan/shards/Shards.h"

#include <deque>
#include <optional>
#include <vector>

namespace dlc {

// Immutable. One rank alone has all of everything: its memory is the plan's.
class Shards {
public:
  // Of a plan that was verified.
  static Shards create(const plan::Plan &plan, int rank, int ranks);

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  bool empty() const { return places_.empty(); }
  uint64_t bytesOf(int region) const { return bytes_[region]; }

  // A range of a region that is nowhere in parts: its offset in this memory.
  uint64_t offsetOf(uint32_t region, uint64_t offset) const;

  // This rank's part of some bytes of a region that lie in one sharded range:
  // the first of them that it has, where, how many; and how many each rank has.
  struct Part {
    uint64_t skipped = 0, offset = 0, bytes = 0;
    std::vector<size_t> pieces;
  };
  // Null if they are whole.
  std::optional<Part> partOf(uint32_t region, uint64_t offset,
                             uint64_t bytes) const;

  // `spec`, whose operands lie as the plan says, with them where they are here.
  // A kernel that works in items does this rank's: `own` keeps its command. Of
  // other commands' operands in sharded ranges it is this rank's part, of one
  // dimension: `types` keeps its type.
  CommandSpec localise(const plan::Program &program, CommandSpec spec,
                       std::deque<plan::Command> &own,
                       std::deque<plan::TensorType> &types) const;
  // The same for who looks at the operands: only the elements that this rank
  // has. `types` keeps theirs.
  CommandSpec narrow(const plan::Program &program, CommandSpec spec,
                     std::deque<plan::TensorType> &types) const;

private:
  struct Place {
    plan::Part range;
    plan::Items items;     // this rank's
    uint64_t local = 0;    // where the first of them is
    uint64_t ownBytes = 0; // of them all
    uint64_t after = 0;    // where what follows the range goes on
  };
  const Place *placeBefore(uint32_t region, uint64_t offset) const;
  // An operand as it is here: whole, or this rank's part.
  void relocate(const plan::Buffer &buffer, Operand &operand,
                std::deque<plan::TensorType> &types) const;
  template <class Move>
  void forEach(const plan::Program &program, CommandSpec &spec,
               Move move) const;

  int rank_ = 0, ranks_ = 1;
  std::vector<Place> places_; // by region and offset
  std::vector<uint64_t> bytes_;
};

} // namespace dlc
