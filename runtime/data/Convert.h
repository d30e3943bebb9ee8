// SPDX-License-Identifier: Apache-2.0
// Converts arrays between element types.
#pragma once

#include "runtime/base/numbers/DType.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace dlc {

using ConvertFunction = void (*)(const std::byte *from, std::byte *to,
                                 uint64_t count, double scale);

// Converter between two types; null for float to integer, which is not
// supported. Pointers may be unaligned. If `scaled`, float results are
// multiplied by `scale` in f64 and rounded once. Integers must be in the range
// of `to`: see findOutside.
ConvertFunction converter(DType from, DType to, bool scaled);

struct IntegerRange {
  int64_t first, last;
};

// The range of an integer type; 0 and 1 for Bool.
IntegerRange rangeOf(DType type);

// Index of the first element of an integer array outside of `range`.
std::optional<uint64_t> findOutside(const std::byte *data, DType type,
                                    uint64_t count, IntegerRange range);

int64_t integerAt(const std::byte *data, DType type, uint64_t index);

} // namespace dlc
