// SPDX-License-Identifier: Apache-2.0
// Treats arrays of any element type as numbers: fills them randomly for a
// kernel, and compares two computations.
#pragma once

#include "runtime/base/numbers/DType.h"

#include <cstddef>
#include <optional>
#include <random>
#include <string>

namespace dlc::test {

/// The element type of a row-major array. It may be computed from values that
/// were rounded to a narrower type, such as 16-bit products. `rows`: I64 are
/// numbers of different rows of a table with so many, or that number: of none.
struct Elements {
  DType type;
  int64_t count;
  std::optional<DType> through = {};
  std::optional<int64_t> rows = {};
  size_t bytes() const { return static_cast<size_t>(count) * sizeOf(type); }
};

double readElement(DType type, const void *array, int64_t index);
void writeElement(DType type, void *array, int64_t index, double value);

/// Uniform in [0.1, 2] or [-2, 2]; integers in [0, below), random bools; of row
/// numbers every third is that of no row.
void fillRandom(const Elements &elements, void *array, bool positive,
                std::mt19937 &random, int64_t below = 7);

/// Changes the last bits of f32 and f64: the effect on results is the effect
/// that rounding may have.
void nudge(const Elements &elements, void *array, std::mt19937 &random);

/// Empty if `found` equals `expected` up to rounding: relative to the value, or
/// to the largest value, since sums may cancel, or to the difference between
/// `nudged`, the result for nudged inputs, and `expected`. `slack` multiplies
/// all three. Integers must be equal.
std::string compare(const Elements &elements, const void *expected,
                    const void *nudged, const void *found, double slack = 1);

} // namespace dlc::test
