// SPDX-License-Identifier: Apache-2.0
// Conversions of the 16-bit types to and from f32. No branches, so that loops
// over them are vectorised on any machine.
#pragma once

#include "runtime/device/cpu/Simd.h"

#include <cstdint>

namespace dlc {

// bfloat16: the upper half of an f32.
struct Bf16 {
  uint16_t bits;
};

// IEEE binary16: 5 bits of exponent, 10 of mantissa, the largest is 65504.
struct F16 {
  uint16_t bits;
};

DLC_INLINE float toFloat(Bf16 value) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(value.bits) << 16);
}

// A product rescales the exponent to f32's, which also normalises subnormals;
// infinity and NaN get f32's largest exponent.
DLC_INLINE float toFloat(F16 value) {
  const uint32_t bits = value.bits, shifted = (bits & 0x7fff) << 13;
  const float scaled = __builtin_bit_cast(float, shifted) * 0x1p112f;
  const uint32_t magnitude = shifted >= 0x0f800000
                                 ? shifted | 0x7f800000
                                 : __builtin_bit_cast(uint32_t, scaled);
  return __builtin_bit_cast(float, magnitude | (bits & 0x8000) << 16);
}

// Rounds to nearest, ties to even; a NaN stays a NaN.
DLC_INLINE Bf16 roundToBf16(float value) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  return {
      static_cast<uint16_t>(value != value ? (bits >> 16) | 0x40 : rounded)};
}

// The same; from 65520 on to infinity. Below 2^-14 the sum with 0.5, whose ulp
// is the subnormals' 2^-24, rounds.
DLC_INLINE F16 roundToF16(float value) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, value),
                 magnitude = bits & 0x7fffffff;
  const uint32_t normal =
      (magnitude + 0xfff + ((magnitude >> 13) & 1) - 0x38000000) >> 13;
  const uint32_t subnormal =
      __builtin_bit_cast(uint32_t,
                         __builtin_bit_cast(float, magnitude) + 0.5f) -
      0x3f000000;
  const uint32_t finite = magnitude < 0x38800000 ? subnormal : normal;
  const uint32_t infinite = magnitude > 0x7f800000 ? 0x7e00 : 0x7c00;
  const uint32_t rounded = magnitude < 0x477ff000 ? finite : infinite;
  return {static_cast<uint16_t>(rounded | (bits >> 16 & 0x8000))};
}

// The type in which T is computed, and conversions to and from it.
template <class T> struct ComputeType { using type = T; };
template <> struct ComputeType<Bf16> { using type = float; };
template <> struct ComputeType<F16> { using type = float; };
template <class T> using Compute = typename ComputeType<T>::type;

DLC_INLINE float load(float value) { return value; }
DLC_INLINE double load(double value) { return value; }
DLC_INLINE float load(Bf16 value) { return toFloat(value); }
DLC_INLINE float load(F16 value) { return toFloat(value); }
DLC_INLINE void store(float &to, float value) { to = value; }
DLC_INLINE void store(double &to, double value) { to = value; }
DLC_INLINE void store(Bf16 &to, float value) { to = roundToBf16(value); }
DLC_INLINE void store(F16 &to, float value) { to = roundToF16(value); }

} // namespace dlc
