// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/roles/FixedNumbers.h"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace dlc::import {

template <typename T>
static std::optional<std::pair<double, double>>
find(const Weight &weight, int64_t rows, int64_t columns) {
  const auto at = [&](int64_t row, int64_t column) {
    T x;
    std::memcpy(&x, weight.at(size_t(row * columns + column)), sizeof x);
    return x;
  };
  const T low = at(0, 0), high = at(0, columns - 1);
  if (low == high)
    return std::nullopt;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      if (!(at(row, column) == (column <= row ? low : high)))
        return std::nullopt;
  return std::pair(double(low), double(high));
}

std::optional<std::pair<double, double>> triangleOf(const Weight &weight) {
  const auto &shape = weight.shape;
  if (shape.size() < 2 || std::any_of(shape.begin(), shape.end() - 2,
                                      [](int64_t d) { return d != 1; }))
    return std::nullopt;
  const int64_t rows = shape.end()[-2], columns = shape.back();
  if (rows < 2 || columns < 2)
    return std::nullopt;
  switch (weight.dtype) {
  case DType::F32:
    return find<float>(weight, rows, columns);
  case DType::I64:
    return find<int64_t>(weight, rows, columns);
  case DType::U8:
  case DType::Bool:
    return find<uint8_t>(weight, rows, columns);
  default:
    return std::nullopt;
  }
}

float largestFinite(const Weight &weight) {
  float x, largest = 0;
  for (size_t i = 0; i < weight.bytes / sizeof x; ++i) {
    std::memcpy(&x, weight.at(i), sizeof x);
    if (std::isfinite(x))
      largest = std::max(largest, std::abs(x));
  }
  return largest;
}

} // namespace dlc::import
