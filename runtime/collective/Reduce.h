// SPDX-License-Identifier: Apache-2.0
// What a collective does with the elements of several ranks.
#pragma once

#include "runtime/base/numbers/DType.h"
#include "runtime/collective/Communicator.h"

#include <cstddef>
#include <span>

namespace dlc {

// Whether a collective carries elements of that type: means are of floats.
bool canReduce(DType type, ReduceOp op);

// to[i] = sources[0][i] + sources[1][i] + ..., from the left, or the largest of
// them, NaN if one is. Half types add in f32 and round once. `to` may be one of
// the sources. Mean is the sum: scale() came before.
void reduceInOrder(void *to, std::span<const std::byte *const> sources,
                   size_t count, DType type, ReduceOp op);

// data[i] *= factor, for float types.
void scale(void *data, size_t count, DType type, double factor);

} // namespace dlc
