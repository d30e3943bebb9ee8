// SPDX-License-Identifier: Apache-2.0
// Halves for libraries that compute in f32: whole arrays there and back.
#pragma once

#include "runtime/device/cpu/Half.h"

namespace dlc {

// Elements [begin, end). Narrowing rounds to nearest, ties to even, and beyond
// the type's largest to infinity.
void widen(const F16 *from, float *to, int64_t begin, int64_t end);
void widen(const Bf16 *from, float *to, int64_t begin, int64_t end);
void narrow(const float *from, F16 *to, int64_t begin, int64_t end);
void narrow(const float *from, Bf16 *to, int64_t begin, int64_t end);

} // namespace dlc
