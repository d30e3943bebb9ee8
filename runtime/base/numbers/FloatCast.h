// SPDX-License-Identifier: Apache-2.0
// Conversion of whole tensors between float types.
#pragma once

#include "runtime/base/numbers/DType.h"

#include <cstddef>
#include <vector>

namespace dlc {

// `count` numbers of type `from` as bytes of type `to`, rounded to nearest
// even. Both must be float types.
std::vector<std::byte> castFloats(const void *data, size_t count, DType from,
                                  DType to);

} // namespace dlc
