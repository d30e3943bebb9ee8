// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/kernels/FilterLoops.h"
#include "runtime/device/cpu/Half.h"
#include "runtime/device/cpu/Simd.h"

#include <algorithm>
#include <utility>

namespace dlc {
namespace {

#define DLC_BODY "runtime/device/cpu/kernels/FilterBody.h"
#include "runtime/device/cpu/kernels/Levels.h"

} // namespace

const FilterLoops &filterCopies() { return DLC_OF_LEVEL(kFilterLoops); }

} // namespace dlc
