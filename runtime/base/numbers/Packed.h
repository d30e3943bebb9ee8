// SPDX-License-Identifier: Apache-2.0
// Types of at most 8 bits that files pack and programs hold in wider ones:
// integers of 2 and 4 bits, floats of 4 and 8.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dlc {

struct Packed {
  std::string_view name; // ONNX's
  int bits;
  bool isFloat, isSigned;
  int digits, bias; // of floats: behind the binary point, of the exponent
  /// Whether its greatest exponent means infinity and NaN, its greatest code is
  /// NaN, or minus zero is.
  bool hasInfinity, hasNan, hasOneZero;

  size_t bytes(size_t count) const { return (count * size_t(bits) + 7) / 8; }
};

/// By ONNX's name ("INT4", "FLOAT8E5M2"); nullptr for every other type.
const Packed *findPacked(std::string_view name);

/// Every value of the type, by its code.
std::vector<float> valuesOf(const Packed &type);
/// `count` elements, the first in the lowest bits; `bytes` has
/// type.bytes(count) of them. All values are exact.
std::vector<float> unpack(const Packed &type, std::string_view bytes,
                          size_t count);
/// The nearest values that the type has.
std::string pack(const Packed &type, const std::vector<float> &values);

} // namespace dlc
