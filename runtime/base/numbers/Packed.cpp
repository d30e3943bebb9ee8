// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/numbers/Packed.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <unordered_map>

namespace dlc {
namespace {

constexpr Packed integer(std::string_view name, int bits, bool isSigned) {
  return {name, bits, false, isSigned, 0, 0, false, false, false};
}

constexpr Packed kPacked[] = {
    integer("INT4", 4, true),
    integer("UINT4", 4, false),
    integer("INT2", 2, true),
    integer("UINT2", 2, false),
    {"FLOAT8E4M3FN", 8, true, true, 3, 7, false, true, false},
    {"FLOAT8E4M3FNUZ", 8, true, true, 3, 8, false, false, true},
    {"FLOAT8E5M2", 8, true, true, 2, 15, true, false, false},
    {"FLOAT8E5M2FNUZ", 8, true, true, 2, 16, false, false, true},
    {"FLOAT4E2M1", 4, true, true, 1, 1, false, false, false},
    {"FLOAT8E8M0", 8, true, false, 0, 127, false, true, false}};

float decodeFloat(const Packed &type, unsigned code) {
  if (!type.isSigned) // powers of two
    return code == 255 ? std::numeric_limits<float>::quiet_NaN()
                       : std::ldexp(1.0f, int(code) - type.bias);
  const unsigned sign = 1u << (type.bits - 1);
  const bool isNegative = code & sign;
  const unsigned size = code & (sign - 1);
  const unsigned fraction = size & ((1u << type.digits) - 1);
  const int exponent = int(size >> type.digits);
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  if ((type.hasOneZero && code == sign) || (type.hasNan && size == sign - 1))
    return kNan;
  float value = exponent == 0
                    ? std::ldexp(float(fraction), 1 - type.bias - type.digits)
                    : std::ldexp(float(fraction | 1u << type.digits),
                                 exponent - type.bias - type.digits);
  if (type.hasInfinity && exponent == (1 << (type.bits - 1 - type.digits)) - 1)
    value = fraction ? kNan : std::numeric_limits<float>::infinity();
  return isNegative ? -value : value;
}

float decode(const Packed &type, unsigned code) {
  if (type.isFloat)
    return decodeFloat(type, code);
  const int value = int(code), range = 1 << type.bits;
  return float(type.isSigned && value >= range / 2 ? value - range : value);
}

} // namespace

std::vector<float> valuesOf(const Packed &type) {
  std::vector<float> values(size_t(1) << type.bits);
  for (size_t code = 0; code < values.size(); ++code)
    values[code] = decode(type, unsigned(code));
  return values;
}

namespace {

/// The code of each value, by the value's bits.
class Codes {
public:
  explicit Codes(const Packed &type) : values_(valuesOf(type)) {
    for (size_t code = 0; code < values_.size(); ++code)
      codes_.emplace(keyOf(values_[code]), unsigned(code));
  }
  unsigned operator()(float x) const {
    auto known = codes_.find(keyOf(x));
    return known != codes_.end() ? known->second : nearest(x);
  }

private:
  /// All NaNs have one key.
  static uint32_t keyOf(float x) {
    return std::bit_cast<uint32_t>(
        std::isnan(x) ? std::numeric_limits<float>::quiet_NaN() : x);
  }
  unsigned nearest(float x) const {
    auto distance = [&](float value) {
      return std::isnan(value) || std::isnan(x)
                 ? std::numeric_limits<float>::infinity()
                 : std::fabs(value - x);
    };
    auto best = std::ranges::min_element(
        values_, [&](float a, float b) { return distance(a) < distance(b); });
    return unsigned(best - values_.begin());
  }

  std::vector<float> values_;
  std::unordered_map<uint32_t, unsigned> codes_;
};

} // namespace

const Packed *findPacked(std::string_view name) {
  for (const Packed &type : kPacked)
    if (type.name == name)
      return &type;
  return nullptr;
}

std::vector<float> unpack(const Packed &type, std::string_view bytes,
                          size_t count) {
  const std::vector<float> values = valuesOf(type);
  std::vector<float> elements(count);
  for (size_t i = 0; i < count; ++i) {
    const size_t bit = i * size_t(type.bits);
    const unsigned byte = uint8_t(bytes[bit / 8]);
    elements[i] = values[byte >> bit % 8 & (values.size() - 1)];
  }
  return elements;
}

std::string pack(const Packed &type, const std::vector<float> &elements) {
  const Codes encode(type);
  std::string bytes(type.bytes(elements.size()), '\0');
  for (size_t i = 0; i < elements.size(); ++i) {
    const size_t bit = i * size_t(type.bits);
    bytes[bit / 8] =
        char(uint8_t(bytes[bit / 8]) | encode(elements[i]) << bit % 8);
  }
  return bytes;
}

} // namespace dlc
