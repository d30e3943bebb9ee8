// SPDX-License-Identifier: Apache-2.0
// Arrays of any element type seen as numbers: random ones for a kernel, and
// whether two ways to compute it agree.
#pragma once

#include "runtime/base/numbers/DType.h"

#include <cstddef>
#include <optional>
#include <random>
#include <string>

namespace dlc::test {

/// A row-major array's type without its shape. What it is computed from may
/// have been rounded to a narrower type on the way, as a product of halves.
struct Elements {
  DType type;
  int64_t count;
  std::optional<DType> through;
  size_t bytes() const { return static_cast<size_t>(count) * sizeOf(type); }
};

double readElement(DType type, const void *array, int64_t index);
void writeElement(DType type, void *array, int64_t index, double value);

/// Uniform in [0.1, 2] or [-2, 2]; integers in [0, below), bools of both kinds.
void fillRandom(const Elements &elements, void *array, bool positive,
                std::mt19937 &random, int64_t below = 7);

/// Changes the last bits of f32 and f64: what results then change by is what
/// rounding may change them by.
void nudge(const Elements &elements, void *array, std::mt19937 &random);

/// Empty if `found` is `expected` up to rounding: relative to the value, or to
/// the largest one, as sums may cancel; and where `nudged`, the result for
/// nudged inputs, is far from `expected`, errors are amplified as well.
/// `slack` is a factor of all three. Integers must be equal.
std::string compare(const Elements &elements, const void *expected,
                    const void *nudged, const void *found, double slack = 1);

} // namespace dlc::test
