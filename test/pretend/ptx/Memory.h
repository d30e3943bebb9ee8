// SPDX-License-Identifier: Apache-2.0
// The memory of a launch. Addresses are not the host's: they say which array
// they are in, so that each access is checked against that array's bounds.
//   global: array << 40 | offset, arrays from 1
//   shared: array << 20 | offset, arrays from 1: 32 bits, as in the ISA
//   local:  1 << 20 | offset, one array per thread
//   param:  1 << 20 | offset, all parameters
// Generic addresses of shared and local memory have kSharedWindow and
// kLocalWindow added.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dlc::ptx {

enum class Space { Global, Shared, Local, Generic };
enum class Access { Read, Write, Atomic };

inline constexpr int kGlobalBits = 40, kSharedBits = 20;
inline constexpr uint64_t kSharedWindow = uint64_t(1) << 60,
                          kLocalWindow = uint64_t(2) << 60;

struct Array {
  std::string name;        // of the variable, or "parameter 2"
  uint8_t *data = nullptr; // of the host
  uint64_t bytes = 0;
};

/// The addresses of an array's start, by its place among its space's.
inline uint64_t globalAddress(size_t array) {
  return uint64_t(array + 1) << kGlobalBits;
}
inline uint64_t sharedAddress(size_t array) {
  return uint64_t(array + 1) << kSharedBits;
}
inline constexpr uint64_t kLocalAddress = uint64_t(1) << kSharedBits,
                          kParameterAddress = kLocalAddress;

} // namespace dlc::ptx
