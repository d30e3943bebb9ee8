// SPDX-License-Identifier: Apache-2.0
// Locates where an update first becomes infinite or NaN.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/train/session/Session.h"

#include <string>
#include <vector>

namespace dlc {

// Describes the first location, in program order over the micro-batches of an
// update and over ranks, as text: the ONNX nodes, the operation, its types, the
// numbers of infinities and NaNs in its results, the range of its operands, and
// a remedy.
//
// The location is a command that has finite operands and a result that is not
// finite; a command with only negative infinities (a mask) is used if there is
// no other. Otherwise it is an input or state that is not finite, or the first
// command with such an operand (a gradient that was made infinite). Empty if
// everything is finite.
//
// Runs the update on its batches with probes: collective, and the state changes
// as in any update. `inject`: with an infinite gradient on this rank
// (DLC_INJECT_INF). `size`: of the batches.
Result<std::string> findOverflow(Session &session, Communicator &communicator,
                                 std::span<const Batch> window, int size,
                                 bool inject);

// Ranges of tensors' elements, with infinities and NaNs.

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
