// SPDX-License-Identifier: Apache-2.0
// Attention of bf16 and its gradient, with products by tiles (TileLoops.h):
// softmax and sums are f32; weights and the gradient of scores are rounded to
// bf16 for products.
#pragma once

#include "runtime/device/cpu/kernels/AttentionLoops.h"

namespace dlc {

// Null if there are no tileLoops().
const AttentionLoops<Bf16> *tileAttentionLoops();

} // namespace dlc
