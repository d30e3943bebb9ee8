// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/kernels/AttentionLoops.h"
#include "runtime/device/cpu/Simd.h"
#include "runtime/device/cpu/tiles/TileAttention.h"

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

template <> const AttentionLoops<float> &attentionLoops() {
  return DLC_OF_LEVEL(kLoops<float>);
}
template <> const AttentionLoops<F16> &attentionLoops() {
  return DLC_OF_LEVEL(kLoops<F16>);
}
template <> const AttentionLoops<Bf16> &attentionLoops() {
  const AttentionLoops<Bf16> *const tiles = tileAttentionLoops();
  return tiles ? *tiles : DLC_OF_LEVEL(kLoops<Bf16>);
}

} // namespace dlc
