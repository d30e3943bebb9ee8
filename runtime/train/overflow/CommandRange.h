// SPDX-License-Identifier: Apache-2.0
// Ranges of tensors' elements, with infinities and NaNs.
#pragma once

#include "runtime/device/Device.h"

#include <string>
#include <vector>

namespace dlc {

struct Range {
  uint64_t count = 0;
  uint64_t plus = 0, minus = 0, nan = 0; // numbers of infinities and NaNs
  double low = 0, high = 0;              // of finite elements, or 0
  uint64_t first = 0; // index of the first that is not finite

  bool finite() const { return plus + minus + nan == 0; }
};

// For a float tensor in host memory; integers and bools have an empty range.
Range rangeOf(const plan::TensorType &type, const std::byte *data);
// The same for a tensor on a device.
Result<Range> rangeOf(Device &device, const Operand &operand);

// An operand's bytes: in place if the host can access them, else copied to
// `copy`.
Result<const std::byte *> fetchBytes(Device &device, const Operand &operand,
                                     std::vector<std::byte> &copy);

// "f32 [16, 48]"
std::string typeText(const plan::TensorType &type);
// "from -1 to 2.5", with the number of infinities and NaNs.
std::string rangeText(const Range &range);

} // namespace dlc
