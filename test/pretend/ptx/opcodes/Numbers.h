// SPDX-License-Identifier: Apache-2.0
// Rounding to 16 bits, once.
#pragma once

#include "runtime/base/numbers/DType.h"
#include "test/pretend/ptx/Instruction.h"
#include <cmath>
#include <limits>

namespace dlc::ptx {

inline float widen(F16 v) { return fromF16(v.bits); }
inline float widen(Bf16 v) { return fromBf16(v.bits); }

/// As a float whose last bit is odd where `v` lies between two: rounding it
/// again to 16 bits gives what rounding `v` gives.
template <class Wide> float roundToOdd(Wide v) {
  float f = static_cast<float>(v);
  if (static_cast<Wide>(f) == v || std::isnan(f))
    return f;
  if (std::fabs(static_cast<Wide>(f)) > std::fabs(v))
    f = std::nextafter(f, 0.0f);
  return std::bit_cast<float>(std::bit_cast<uint32_t>(f) | 1);
}

template <class T, class Wide> T narrow(Wide v) {
  const float f = roundToOdd(v);
  if constexpr (std::is_same_v<T, F16>)
    return F16{std::isnan(f) ? uint16_t(0x7fff) : toF16(f)};
  else
    return Bf16{std::isnan(f) ? uint16_t(0x7fff) : toBf16(f)};
}

/// What the ISA has results be that are no numbers.
template <class T> T canonicalNan() {
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<T>(0x7fffffffu);
  else
    return std::bit_cast<T>(0x7fffffffffffffffu);
}

/// max and min ignore a NaN beside a number, or with kNan give one; -0 is less
/// than +0.
template <bool kMax, bool kNan, class T> T extreme(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) {
    if (kNan || (std::isnan(a) && std::isnan(b)))
      return canonicalNan<T>();
    return std::isnan(a) ? b : a;
  }
  if (a == b)
    return std::signbit(a) == kMax ? b : a;
  return (a < b) == kMax ? b : a;
}

} // namespace dlc::ptx
