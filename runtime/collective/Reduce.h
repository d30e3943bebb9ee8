// SPDX-License-Identifier: Apache-2.0
// Elementwise reductions over the data of several ranks.
#pragma once

#include "runtime/base/numbers/DType.h"
#include "runtime/collective/Communicator.h"

#include <cstddef>
#include <span>

namespace dlc {

// Whether a collective supports the type: means need floats.
bool canReduce(DType type, ReduceOp op);

// to[i] = sources[0][i] + sources[1][i] + ..., from left to right, or that sum
// times 1 / sources.size(), or the maximum, NaN if one is NaN. 16-bit types are
// computed in f32 and rounded once. `to` may be one of the sources.
void reduceInOrder(void *to, std::span<const std::byte *const> sources,
                   size_t count, DType type, ReduceOp op);

} // namespace dlc
