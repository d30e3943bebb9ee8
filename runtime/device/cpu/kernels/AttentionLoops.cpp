// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/kernels/AttentionLoops.h"
#include "runtime/device/cpu/Simd.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace dlc {
namespace {

#ifdef __x86_64__
namespace v4 {
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4,prefer-vector-width=512")
constexpr int kLanes = 16, kBlockRows = 12;
#include "runtime/device/cpu/kernels/AttentionBody.h"
#pragma GCC pop_options
} // namespace v4
namespace v3 {
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3")
constexpr int kLanes = 8, kBlockRows = 6;
#include "runtime/device/cpu/kernels/AttentionBody.h"
#pragma GCC pop_options
} // namespace v3
#endif
namespace baseline {
constexpr int kLanes = 8, kBlockRows = 6;
#include "runtime/device/cpu/kernels/AttentionBody.h"
} // namespace baseline

} // namespace

int64_t attentionFloats(const AttentionGeometry &g) {
  return DLC_OF_LEVEL(attentionFloats(g));
}
int64_t attentionBackwardFloats(const AttentionGeometry &g) {
  return DLC_OF_LEVEL(attentionBackwardFloats(g));
}

#define DLC_ATTENTION_LOOPS(T)                                                 \
  void attention(const AttentionGeometry &g, const AttentionMask &mask,        \
                 const T *q, const T *k, const T *v, T *y, float *lse,         \
                 int64_t begin, int64_t end, float *memory) {                  \
    DLC_OF_LEVEL(forward(g, mask, q, k, v, y, lse, begin, end, memory));       \
  }                                                                            \
  void attentionBackward(const AttentionGeometry &g,                           \
                         const AttentionMask &mask, const T *dy, const T *q,   \
                         const T *k, const T *v, const T *y, const float *lse, \
                         T *dq, T *dk, T *dv, float *memory) {                 \
    DLC_OF_LEVEL(                                                              \
        backward<T>(g, mask, {dy, q, k, v, y, lse, dq, dk, dv}, memory));      \
  }
DLC_ATTENTION_LOOPS(float)
DLC_ATTENTION_LOOPS(Bf16)
DLC_ATTENTION_LOOPS(F16)
#undef DLC_ATTENTION_LOOPS

} // namespace dlc
