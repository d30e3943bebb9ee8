// SPDX-License-Identifier: Apache-2.0
// States of which each rank has a part, as what uses them by name sees them.
#pragma once

#include "runtime/collective/Communicator.h"
#include "runtime/exec/TensorView.h"
#include "runtime/exec/parts/RankMemory.h"

#include <map>
#include <string>

namespace dlc {

// For the thread that owns the device. What it is given outlives it.
class StateParts {
public:
  // `keeps`: what is written stays readable as a whole, until drop().
  StateParts(Device &device, const RankMemory &memory, bool keeps)
      : device_(device), memory_(memory), keeps_(keeps) {}

  int ranks() const { return memory_.ranks(); }
  bool isPart(const plan::State &state) const {
    return partOf(state).has_value();
  }

  // Whether it is each rank's own: what compressing its gradients has left out,
  // moments of steps by itself.
  static bool isOwn(const plan::State &state) {
    return state.role() == "error";
  }
  // In a file, which has all ranks'.
  static std::vector<int64_t> shapeOfRanks(const plan::State &state, int ranks);
  // Of such a state: what all ranks have, one after the other. One rank's is a
  // view as fetch() gives it; else gather() has kept them, or this is Failed.
  Result<TensorView> ofRanks(const plan::State &state,
                             std::vector<std::byte> &copy);
  // This rank's of what so many ranks had; of another number of them each gets
  // the mean, of which a mean over ranks is the same. Kept for the next.
  Status writeOfRanks(const plan::State &state, const std::byte *from,
                      int ranks);
  // All ranks, after rank 0 has written: each gets its own.
  Status shareOfRanks(const plan::State &state, Communicator &communicator);

  // Bytes [begin, end) of a state that this rank has for all; of one that is no
  // part all of them.
  struct Range {
    uint64_t begin = 0, end = 0;
  };
  Range rangeOf(const plan::State &state) const;
  // So many of these: a view of memory, or of `copy` where the host cannot see
  // it.
  Result<TensorView> fetch(const plan::State &state, Range range,
                           std::vector<std::byte> &copy);

  // Whether ranks have more of it together than one of them.
  bool isApart(const plan::State &state) const {
    return isPart(state) || (isOwn(state) && ranks() > 1);
  }
  // Of such a state. All ranks gather the same, in one order.
  Status gather(const plan::State &state, Communicator &communicator,
                bool keep);
  Status write(const plan::State &state, const std::byte *from);
  // Failed if it was neither gathered nor kept.
  Status read(const plan::State &state, void *to) const;
  Status unknown(const plan::State &state) const; // that error
  void drop() { wholes_.clear(); }
  // The same, if a program that is to run writes where such states are.
  void dropChanged(const plan::Plan &plan, const plan::Program &program);

private:
  std::optional<RankMemory::Part> partOf(const plan::State &state) const;
  bool changes(const plan::Plan &plan, const plan::Program &program) const;
  Status uploadOwn(const plan::State &state, const std::byte *from);

  Device &device_;
  const RankMemory &memory_;
  const bool keeps_;
  std::map<std::string, std::vector<std::byte>> wholes_;
  std::map<const plan::Program *, bool> changes_;
};

} // namespace dlc
