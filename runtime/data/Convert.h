// SPDX-License-Identifier: Apache-2.0
// Conversion of arrays between element types.
#pragma once

#include "runtime/base/numbers/DType.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace dlc {

using ConvertFunction = void (*)(const std::byte *from, std::byte *to,
                                 uint64_t count, double scale);

// Every type to every other but float to integer, which has no converter and
// gives null. Neither pointer need be aligned. Float results are times `scale`
// (in f64, rounded once) if `scaled`. Integers must fit: see findOutside.
ConvertFunction converter(DType from, DType to, bool scaled);

struct IntegerRange {
  int64_t first, last;
};

// What an integer type (or Bool: 0 and 1) can hold.
IntegerRange rangeOf(DType type);

// The first element of an integer array that is not in `range`.
std::optional<uint64_t> findOutside(const std::byte *data, DType type,
                                    uint64_t count, IntegerRange range);

int64_t integerAt(const std::byte *data, DType type, uint64_t index);

} // namespace dlc
