#include "runtime/device/cpu/kernels/HalfLoops.h"

namespace dlc {

DLC_MULTIVERSION void widen(const F16 *__restrict from, float *__restrict to,
                            int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t i = begin; i < end; ++i)
    to[i] = toFloat(from[i]);
}

DLC_MULTIVERSION void narrow(const float *__restrict from, F16 *__restrict to,
                             int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t i = begin; i < end; ++i)
    to[i] = roundToF16(from[i]);
}

} // namespace dlc
