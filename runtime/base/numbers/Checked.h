// SPDX-License-Identifier: Apache-2.0
// Arithmetic on sizes from files: nullopt instead of wrapping around.
#pragma once

#include <cstdint>
#include <optional>

namespace dlc {

inline std::optional<uint64_t> checkedAdd(uint64_t a, uint64_t b) {
  uint64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? std::nullopt : std::optional(sum);
}

inline std::optional<uint64_t> checkedMul(uint64_t a, uint64_t b) {
  uint64_t product;
  return __builtin_mul_overflow(a, b, &product) ? std::nullopt
                                                : std::optional(product);
}

// Elements of a shape; nullopt if a dimension is negative or the product
// overflows.
template <class Shape>
std::optional<uint64_t> checkedElements(const Shape &shape) {
  std::optional<uint64_t> count = 1;
  for (int64_t dim : shape) {
    if (dim < 0)
      return std::nullopt;
    if (count = checkedMul(*count, uint64_t(dim)); !count)
      return std::nullopt;
  }
  return count;
}

} // namespace dlc
