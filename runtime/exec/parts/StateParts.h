// States of which each rank has a part, as what uses them by name sees them.
#pragma once

#include "runtime/collective/Communicator.h"
#include "runtime/exec/TensorView.h"
#include "runtime/exec/parts/Shards.h"

#include <map>
#include <string>

namespace dlc {

// For the thread that owns the device. What it is given outlives it.
class StateParts {
public:
  // `keeps`: what is written stays readable as a whole, until drop().
  StateParts(Device &device, const std::vector<std::byte *> &regions,
             Shards shards, bool keeps)
      : device_(device), regions_(regions), shards_(std::move(shards)),
        keeps_(keeps) {}

  const Shards &shards() const { return shards_; }
  bool isPart(const plan::State &state) const {
    return partOf(state).has_value();
  }

  // Bytes [begin, end) of a state that this rank has; of one that is no part
  // all of them.
  struct Range {
    uint64_t begin = 0, end = 0;
  };
  Range rangeOf(const plan::State &state) const;
  // So many of these: a view of memory, or of `copy` where the host cannot see
  // it.
  Result<TensorView> fetch(const plan::State &state, Range range,
                           std::vector<std::byte> &copy);

  // Of a state that is a part. All ranks gather the same, in one order.
  Status gather(const plan::State &state, Communicator &communicator,
                bool keep);
  Status write(const plan::State &state, const std::byte *from);
  // Failed if it was neither gathered nor kept.
  Status read(const plan::State &state, void *to) const;
  Status unknown(const plan::State &state) const; // that error
  void drop() { wholes_.clear(); }

private:
  std::optional<Shards::Part> partOf(const plan::State &state) const;

  Device &device_;
  const std::vector<std::byte *> &regions_;
  const Shards shards_;
  const bool keeps_;
  std::map<std::string, std::vector<std::byte>> wholes_;
};

} // namespace dlc
