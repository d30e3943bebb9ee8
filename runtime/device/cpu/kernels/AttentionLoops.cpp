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

#define DLC_BODY "runtime/device/cpu/kernels/AttentionBody.h"
#include "runtime/device/cpu/kernels/Levels.h"

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
