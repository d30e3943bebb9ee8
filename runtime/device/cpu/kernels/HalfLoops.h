// SPDX-License-Identifier: Apache-2.0
// Conversions of 16-bit arrays for libraries that compute in f32.
#pragma once

#include "runtime/device/cpu/Half.h"

namespace dlc {

// Converts elements [begin, end). Narrowing rounds to nearest, ties to even;
// numbers beyond the type's range become infinity.
void widen(const F16 *from, float *to, int64_t begin, int64_t end);
void widen(const Bf16 *from, float *to, int64_t begin, int64_t end);
void narrow(const float *from, F16 *to, int64_t begin, int64_t end);
void narrow(const float *from, Bf16 *to, int64_t begin, int64_t end);

} // namespace dlc
