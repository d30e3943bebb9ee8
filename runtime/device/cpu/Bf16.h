// bfloat16: the upper half of an f32.
#pragma once

#include "runtime/device/cpu/Simd.h"

#include <cstdint>

namespace dlc {

struct Bf16 {
  uint16_t bits;
};

DLC_INLINE float toFloat(Bf16 value) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(value.bits) << 16);
}

// Rounds to nearest, ties to even; a NaN stays a NaN.
DLC_INLINE Bf16 roundToBf16(float value) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  return {
      static_cast<uint16_t>(value != value ? (bits >> 16) | 0x40 : rounded)};
}

// The type that T is computed in, and the way there and back.
template <class T> struct ComputeType { using type = T; };
template <> struct ComputeType<Bf16> { using type = float; };
template <class T> using Compute = typename ComputeType<T>::type;

DLC_INLINE float load(float value) { return value; }
DLC_INLINE double load(double value) { return value; }
DLC_INLINE float load(Bf16 value) { return toFloat(value); }
DLC_INLINE void store(float &to, float value) { to = value; }
DLC_INLINE void store(double &to, double value) { to = value; }
DLC_INLINE void store(Bf16 &to, float value) { to = roundToBf16(value); }

} // namespace dlc
