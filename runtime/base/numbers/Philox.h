// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw,
// "Parallel random numbers: as easy as 1, 2, 3" (SC 2011): a random number is a
// pure function of a key and a counter, so the same numbers come out on every
// device, for any number of threads and in any order.
#pragma once

#include <array>
#include <cstdint>

namespace dlc {

// The generator's constants; generated kernels use the same (dialect/Random).
constexpr uint32_t kPhiloxM0 = 0xD2511F53, kPhiloxM1 = 0xCD9E8D57,
                   kPhiloxW0 = 0x9E3779B9, kPhiloxW1 = 0xBB67AE85;
constexpr int kPhiloxRounds = 10;

using PhiloxKey = std::array<uint32_t, 2>;
using PhiloxBlock = std::array<uint32_t, 4>;

// Four independent words of 32 random bits each.
constexpr PhiloxBlock philox(PhiloxKey key, PhiloxBlock counter) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const uint64_t a = uint64_t(kPhiloxM0) * counter[0];
    const uint64_t b = uint64_t(kPhiloxM1) * counter[2];
    counter = {uint32_t(b >> 32) ^ counter[1] ^ key[0], uint32_t(b),
               uint32_t(a >> 32) ^ counter[3] ^ key[1], uint32_t(a)};
    key[0] += kPhiloxW0;
    key[1] += kPhiloxW1;
  }
  return counter;
}

// The same with 64-bit arguments, low halves first.
constexpr PhiloxBlock philox(uint64_t key, uint64_t low, uint64_t high) {
  return philox({uint32_t(key), uint32_t(key >> 32)},
                {uint32_t(low), uint32_t(low >> 32), uint32_t(high),
                 uint32_t(high >> 32)});
}

} // namespace dlc
