// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/winograd/WinogradLoops.h"
#include "runtime/device/cpu/Half.h"

namespace dlc {
namespace {

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

const WinogradLoops &filterLoops() { return DLC_OF_LEVEL(kLoops<1, float>); }

template <class E> const WinogradLoops &winogradLoops(int64_t tile) {
  return tile == 2 ? DLC_OF_LEVEL(kLoops<2, E>) : DLC_OF_LEVEL(kLoops<4, E>);
}
template const WinogradLoops &winogradLoops<float>(int64_t tile);
template const WinogradLoops &winogradLoops<Bf16>(int64_t tile);
template const WinogradLoops &winogradLoops<F16>(int64_t tile);

} // namespace dlc
