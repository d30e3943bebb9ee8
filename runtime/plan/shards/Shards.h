// SPDX-License-Identifier: Apache-2.0
// What each rank keeps a part of, as --zero asks for: moments and averages that
// are updated in items (attribute `shard` of a kernel), gradients that are
// reduced to these (a reduce_scatter), and parameters that are gathered from
// these to be used (an all_gather to somewhere else).
#pragma once

#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

#include <vector>

namespace dlc::plan {

// A range of a region that one kernel updates or reads in `extent` items of
// `item` bytes; the last one may be shorter.
struct ShardedRange {
  uint32_t region = 0;
  uint64_t offset = 0, bytes = 0;
  int64_t extent = 0;
  uint64_t item = 0;
};

// Items [first, last) of `extent` are this rank's.
struct Items {
  int64_t first = 0, last = 0;
};
Items itemsOf(int64_t extent, int rank, int ranks);
// How many of `bytes` each rank has.
std::vector<size_t> piecesOf(uint64_t bytes, int64_t extent, uint64_t item,
                             int ranks);

// Elements of an item of a kernel of which ranks run a part; 0: all run it.
int64_t shardOf(const Command &command);
// Whether such a kernel is given the elements that a rank has, as if there were
// no others, rather than the numbers of its items.
bool takesElements(const Command &command);
// Whether the command completes what each rank has a part of in another place.
bool gathersElsewhere(const Command &command);
// Whether the command takes whatever part of its operands a rank has: a wait,
// or a sum over parts.
bool takesParts(const Command &command);

// By region and offset. Code::Corrupt if two overlap, or something else than
// such a kernel uses one.
Result<std::vector<ShardedRange>> shardedRanges(const Plan &plan);

} // namespace dlc::plan
