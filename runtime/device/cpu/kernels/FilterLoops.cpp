// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/kernels/FilterLoops.h"
#include "runtime/device/cpu/Half.h"
#include "runtime/device/cpu/Simd.h"

#include <algorithm>
#include <utility>

namespace dlc {
namespace {

#ifdef __x86_64__
namespace v4 {
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4,prefer-vector-width=512")
constexpr int kLanes = 16, kBlockRows = 12;
#include "runtime/device/cpu/kernels/Lanes.h"

#include "runtime/device/cpu/kernels/FilterBody.h"
#pragma GCC pop_options
} // namespace v4
namespace v3 {
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3")
constexpr int kLanes = 8, kBlockRows = 6;
#include "runtime/device/cpu/kernels/Lanes.h"

#include "runtime/device/cpu/kernels/FilterBody.h"
#pragma GCC pop_options
} // namespace v3
#endif
namespace baseline {
constexpr int kLanes = 8, kBlockRows = 6;
#include "runtime/device/cpu/kernels/Lanes.h"

#include "runtime/device/cpu/kernels/FilterBody.h"
} // namespace baseline

} // namespace

const FilterLoops &filterCopies() { return DLC_OF_LEVEL(kFilterLoops); }

} // namespace dlc
