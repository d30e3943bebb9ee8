// SPDX-License-Identifier: Apache-2.0
// Whole tensors from one float type to another.
#pragma once

#include "runtime/base/numbers/DType.h"

#include <cstddef>
#include <vector>

namespace dlc {

// The bytes of `count` numbers of `from` as `to`, rounded to nearest even.
// Both are float types.
std::vector<std::byte> castFloats(const void *data, size_t count, DType from,
                                  DType to);

} // namespace dlc
