// SPDX-License-Identifier: Apache-2.0
// Sums of non-negative numbers that do not depend on the order of summation.
#pragma once

#include "runtime/device/cpu/Simd.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace dlc {

// Exact: digit i has weight 2^(32 i - 1074). Sums are added digit by digit,
// with up to 2^31 additions between calls of carry(); up to 2^31 carried sums
// may be added, also as integers by a reduction over ranks.
struct ExactSum {
  static constexpr size_t kDigits = 67, kInfinities = 67, kNans = 68;
  static constexpr size_t kWords = 69;
  int64_t words[kWords] = {};

  DLC_INLINE void add(double x) {
    const auto bits = std::bit_cast<uint64_t>(x);
    const uint64_t exponent = bits >> 52 & 0x7ff;
    const uint64_t fraction = bits & ((uint64_t(1) << 52) - 1);
    if (exponent == 0x7ff) {
      ++words[fraction ? kNans : kInfinities];
      return;
    }
    const uint64_t at = exponent ? exponent - 1 : 0;
    const auto digits = static_cast<unsigned __int128>(
                            exponent ? fraction | uint64_t(1) << 52 : fraction)
                        << (at & 31);
    int64_t *word = words + (at >> 5);
    word[0] += static_cast<uint32_t>(digits);
    word[1] += static_cast<uint32_t>(digits >> 32);
    word[2] += static_cast<uint32_t>(digits >> 64);
  }
  void add(const ExactSum &other) {
    for (size_t i = 0; i < kWords; ++i)
      words[i] += other.words[i];
  }
  // Normalises digits to less than 2^32.
  void carry() {
    for (size_t i = 0; i + 1 < kDigits; ++i) {
      words[i + 1] += words[i] >> 32;
      words[i] &= 0xffffffff;
    }
  }
  // The rounded value of a carried sum, within slightly more than half an ulp.
  double value() const {
    if (words[kNans])
      return std::numeric_limits<double>::quiet_NaN();
    if (words[kInfinities])
      return std::numeric_limits<double>::infinity();
    size_t top = kDigits - 1;
    while (top > 2 && words[top] == 0)
      --top;
    const auto three = static_cast<unsigned __int128>(words[top]) << 64 |
                       static_cast<unsigned __int128>(words[top - 1]) << 32 |
                       static_cast<unsigned __int128>(words[top - 2]);
    return std::ldexp(static_cast<double>(three),
                      32 * static_cast<int>(top - 2) - 1074);
  }
};

} // namespace dlc
