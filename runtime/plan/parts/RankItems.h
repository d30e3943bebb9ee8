// SPDX-License-Identifier: Apache-2.0
// What each rank keeps a part of, as --zero asks for: the plan's parts, which
// are ranges of moments and averages, of gradients that are scattered and of
// parameters that are gathered to be used.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

#include <vector>

namespace dlc::plan {

// Items [first, last) of `extent` are this rank's.
struct Items {
  int64_t first = 0, last = 0;
};
Items itemsOf(int64_t extent, int rank, int ranks);
// How many of `bytes` each rank has.
std::vector<size_t> piecesOf(uint64_t bytes, int64_t extent, uint64_t item,
                             int ranks);

// Elements of an item of a command of which ranks do a part each; 0: all of it.
int64_t itemOf(const Command &command);
// Whether such a kernel is given the elements that a rank has, as if there were
// no others, rather than the numbers of its items.
bool takesElements(const Command &command);
// Whether it adds up numbers of a rank's parts, which ranks then add up.
bool sumsParts(const Command &command);
// Whether the command completes what each rank has a part of in another place.
bool gathersElsewhere(const Command &command);

// Of a plan whose buffers, regions and states are valid: its parts are ranges
// in order, of which states have all or nothing, and commands use what they
// may. Code::Corrupt if not; Code::Incompatible of a plan of an early version,
// which had parts and did not tell them.
Status checkParts(const Plan &plan);

} // namespace dlc::plan
