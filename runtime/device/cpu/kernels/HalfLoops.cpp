// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/kernels/HalfLoops.h"

namespace dlc {
namespace {

template <class T>
DLC_INLINE void widenAll(const T *__restrict from, float *__restrict to,
                         int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t i = begin; i < end; ++i)
    to[i] = toFloat(from[i]);
}

template <class T>
DLC_INLINE void narrowAll(const float *__restrict from, T *__restrict to,
                          int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t i = begin; i < end; ++i)
    store(to[i], from[i]);
}

} // namespace

DLC_MULTIVERSION void widen(const F16 *from, float *to, int64_t begin,
                            int64_t end) {
  widenAll(from, to, begin, end);
}
DLC_MULTIVERSION void widen(const Bf16 *from, float *to, int64_t begin,
                            int64_t end) {
  widenAll(from, to, begin, end);
}
DLC_MULTIVERSION void narrow(const float *from, F16 *to, int64_t begin,
                             int64_t end) {
  narrowAll(from, to, begin, end);
}
DLC_MULTIVERSION void narrow(const float *from, Bf16 *to, int64_t begin,
                             int64_t end) {
  narrowAll(from, to, begin, end);
}

} // namespace dlc
