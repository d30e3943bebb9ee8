// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/narrow/NarrowLoops.h"
#include "runtime/device/cpu/Simd.h"

#include <algorithm>
#include <utility>

namespace dlc {
namespace {

#define DLC_BODY "runtime/device/cpu/narrow/NarrowBody.h"
#include "runtime/device/cpu/kernels/Levels.h"

} // namespace

template <class T> const NarrowLoops<T> &narrowLoops() {
  return DLC_OF_LEVEL(kNarrowLoops<T>);
}
template const NarrowLoops<float> &narrowLoops();
template const NarrowLoops<Bf16> &narrowLoops();
template const NarrowLoops<F16> &narrowLoops();

} // namespace dlc
