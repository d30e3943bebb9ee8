// SPDX-License-Identifier: Apache-2.0
// Types of at most 8 bits that files store packed and programs store in wider
// types: integers of 2 and 4 bits, floats of 4 and 8 bits.
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
  int digits, bias; // of floats: mantissa digits and exponent bias
  /// Whether the largest exponent means infinity and NaN; whether the largest
  /// code is NaN; whether minus zero means NaN.
  bool hasInfinity, hasNan, hasOneZero;

  size_t bytes(size_t count) const { return (count * size_t(bits) + 7) / 8; }
};

/// By ONNX's name ("INT4", "FLOAT8E5M2"); nullptr for other types.
const Packed *findPacked(std::string_view name);

/// All values of the type, indexed by code.
std::vector<float> valuesOf(const Packed &type);
/// Unpacks `count` elements, the first in the lowest bits; `bytes` has
/// type.bytes(count) bytes. All values are exact.
std::vector<float> unpack(const Packed &type, std::string_view bytes,
                          size_t count);
/// Packs values, rounded to the nearest of the type.
std::string pack(const Packed &type, const std::vector<float> &values);

} // namespace dlc
