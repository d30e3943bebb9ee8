// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/winograd/WinogradLoops.h"

namespace dlc {
namespace {

// Not target_clones (Simd.h): vectors of a fixed size are lowered before a
// function is cloned.
#ifdef __x86_64__
namespace v4 {
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4,prefer-vector-width=512")
constexpr int kLanes = 16, kRows = 14, kColumns = 2;
#include "runtime/device/cpu/winograd/WinogradBody.h"
#pragma GCC pop_options
} // namespace v4
namespace v3 {
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3")
constexpr int kLanes = 8, kRows = 6, kColumns = 1;
#include "runtime/device/cpu/winograd/WinogradBody.h"
#pragma GCC pop_options
} // namespace v3
#endif
namespace baseline {
constexpr int kLanes = 4, kRows = 3, kColumns = 1;
#include "runtime/device/cpu/winograd/WinogradBody.h"
} // namespace baseline

} // namespace

#define DLC_LOOPS_OF(LEVEL)                                                    \
  (tile == 1   ? LEVEL::kLoops<1>                                              \
   : tile == 2 ? LEVEL::kLoops<2>                                              \
               : LEVEL::kLoops<4>)

const WinogradLoops &winogradLoops(int64_t tile) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("x86-64-v4"))
    return DLC_LOOPS_OF(v4);
  if (__builtin_cpu_supports("x86-64-v3"))
    return DLC_LOOPS_OF(v3);
#endif
  return DLC_LOOPS_OF(baseline);
}

} // namespace dlc
