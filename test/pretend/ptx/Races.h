// SPDX-License-Identifier: Apache-2.0
// Races in shared memory: accesses of two threads to one place, of which one
// writes, without a barrier between them. bar.warp.sync is one between threads
// of a warp; shuffles and votes order no memory.
#pragma once

#include "Memory.h"

namespace dlc::ptx {

/// When a thread accesses: no two accesses with different blocks or barriers
/// race.
struct Moment {
  uint64_t block; // from 1
  uint32_t barriers, meetings, thread;
};

class Races {
public:
  /// `granule`: the bytes of the narrowest access.
  Races(const std::vector<Array> &shared, unsigned granule);

  /// Returns the thread with which this access races; -1: none.
  int64_t access(size_t array, uint64_t offset, uint64_t bytes, bool writes,
                 const Moment &now);

private:
  struct Place {
    Moment write = {}, reads[2] = {}; // the last ones, of different threads
  };
  unsigned granule;
  std::vector<std::vector<Place>> arrays;
};

} // namespace dlc::ptx
