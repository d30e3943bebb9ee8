// SPDX-License-Identifier: Apache-2.0
// What the elements of a tensor are like.
#pragma once

#include "runtime/device/Device.h"

#include <string>
#include <vector>

namespace dlc {

struct Range {
  uint64_t count = 0;
  uint64_t plus = 0, minus = 0, nan = 0; // infinities by sign
  double low = 0, high = 0; // of the finite elements, 0 if there are none
  uint64_t first = 0;       // position of the first that is not finite

  bool finite() const { return plus + minus + nan == 0; }
};

// Of a float tensor in host memory; integers and bools give an empty range.
Range rangeOf(const plan::TensorType &type, const std::byte *data);
// The same of a tensor on a device.
Result<Range> rangeOf(Device &device, const Operand &operand);

// An operand's bytes: where they are if the host sees them, else `copy`, which
// gets them.
Result<const std::byte *> fetchBytes(Device &device, const Operand &operand,
                                     std::vector<std::byte> &copy);

// "f32 [16, 48]"
std::string typeText(const plan::TensorType &type);
// "from -1 to 2.5", and what is not finite.
std::string rangeText(const Range &range);

} // namespace dlc
