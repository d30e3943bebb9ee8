// SPDX-License-Identifier: Apache-2.0
// Reductions of the elements of several ranks.
#pragma once

#include "runtime/base/numbers/DType.h"
#include "runtime/collective/Communicator.h"

#include <cstddef>
#include <span>

namespace dlc {

// Whether a collective carries elements of that type: means are of floats.
bool canReduce(DType type, ReduceOp op);

// to[i] = sources[0][i] + sources[1][i] + ..., from left to right, or that
// times 1 / sources.size(), or the maximum, NaN if one is NaN. 16-bit types are
// computed in f32 and rounded once. `to` may be one of the sources.
void reduceInOrder(void *to, std::span<const std::byte *const> sources,
                   size_t count, DType type, ReduceOp op);

} // namespace dlc
