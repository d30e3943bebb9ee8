// SPDX-License-Identifier: Apache-2.0
// Data that is split over ranks, by --zero: the plan's parts, which are ranges
// of moments and averages, of gradients that are scattered and of parameters
// that are gathered for use.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

#include <vector>

namespace dlc::plan {

// A rank's items [first, last) of `extent` items.
struct Items {
  int64_t first = 0, last = 0;
};
Items itemsOf(int64_t extent, int rank, int ranks);
// Code::Usage unless `ranks` consist of groups of `group` ranks, each of which
// has all parts, and the plan at `path` has parts; 0: no groups. `given` is the
// value of --zero-group.
Status checkGroup(const Plan &plan, const std::string &path,
                  std::string_view given, int64_t group, int64_t ranks);
// Number of bytes of each rank, of `bytes` in total.
std::vector<size_t> piecesOf(uint64_t bytes, int64_t extent, uint64_t item,
                             int ranks);

// Elements per item of a command whose items are split over ranks; 0: each rank
// runs all of it.
int64_t itemOf(const Command &command);
// Whether such a kernel is passed only the elements of the rank, instead of
// item indices.
bool takesElements(const Command &command);
// Whether it sums over the rank's parts, so that ranks must reduce the sums.
bool sumsParts(const Command &command);
// Whether the command gathers ranks' parts to another place.
bool gathersElsewhere(const Command &command);

// Checks the parts of a plan whose buffers, regions and states are valid: they
// are ranges in order that contain each state wholly or not at all, and
// commands use them only as allowed. Code::Corrupt if not; Code::Incompatible
// for an early version of plans, which did not record parts.
Status checkParts(const Plan &plan);

} // namespace dlc::plan
