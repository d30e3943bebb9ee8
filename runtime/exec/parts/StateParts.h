// SPDX-License-Identifier: Apache-2.0
// Access by name to states that are split over ranks.
#pragma once

#include "runtime/collective/Communicator.h"
#include "runtime/exec/TensorView.h"
#include "runtime/exec/parts/RankMemory.h"

#include <map>
#include <string>

namespace dlc {

// For the thread that owns the device. Its arguments must outlive it.
class StateParts {
public:
  // `keeps`: whole states that are written remain readable until drop().
  StateParts(Device &device, const RankMemory &memory, bool keeps)
      : device_(device), memory_(memory), keeps_(keeps) {}

  int ranks() const { return memory_.ranks(); }
  bool isPart(const plan::State &state) const {
    return partOf(state).has_value();
  }

  // Whether each rank has its own value: the error feedback of gradient
  // compression, or moments of local steps.
  static bool isOwn(const plan::State &state) {
    return state.role() == "error";
  }
  // Its shape in a file, which has the values of all ranks.
  static std::vector<int64_t> shapeOfRanks(const plan::State &state, int ranks);
  // The values of all ranks of such a state, one after the other. With one rank
  // a view as by fetch(); else Failed unless gather() has stored them.
  Result<TensorView> ofRanks(const plan::State &state,
                             std::vector<std::byte> &copy);
  // Writes this rank's value from those of `ranks` ranks; if their number
  // differs, every rank gets the mean, which preserves the mean over ranks. The
  // values are kept for the next read.
  Status writeOfRanks(const plan::State &state, const std::byte *from,
                      int ranks);
  // Called by all ranks after rank 0 has written: sends each rank its value.
  Status shareOfRanks(const plan::State &state, Communicator &communicator);

  // The bytes [begin, end) of a state that this rank stores; all bytes if it is
  // not split.
  struct Range {
    uint64_t begin = 0, end = 0;
  };
  Range rangeOf(const plan::State &state) const;
  // A view of a range of these bytes, or of `copy` if the host cannot access
  // the memory.
  Result<TensorView> fetch(const plan::State &state, Range range,
                           std::vector<std::byte> &copy);

  // Whether the ranks together have more of it than one rank.
  bool isApart(const plan::State &state) const {
    return isPart(state) || (isOwn(state) && ranks() > 1);
  }
  // Gathers such a state. All ranks must gather the same states in one order.
  Status gather(const plan::State &state, Communicator &communicator,
                bool keep);
  Status write(const plan::State &state, const std::byte *from);
  // Failed if it was neither gathered nor kept.
  Status read(const plan::State &state, void *to) const;
  Status unknown(const plan::State &state) const; // that error
  void drop() { wholes_.clear(); }
  // Drops whole states if running `program` would change them.
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
