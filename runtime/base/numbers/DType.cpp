// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/numbers/DType.h"

#include <array>
#include <bit>

namespace dlc {
namespace {

struct Row {
  uint64_t size;
  std::string_view name;
  std::string_view safetensors;
};

// In the order of the enum.
constexpr std::array<Row, 8> kRows = {{{4, "f32", "F32"},
                                       {2, "f16", "F16"},
                                       {2, "bf16", "BF16"},
                                       {8, "f64", "F64"},
                                       {8, "i64", "I64"},
                                       {4, "i32", "I32"},
                                       {1, "u8", "U8"},
                                       {1, "bool", "BOOL"}}};

const Row &row(DType type) { return kRows[size_t(type)]; }

std::optional<DType> find(std::string_view name, std::string_view Row::*field) {
  for (size_t i = 0; i < kRows.size(); ++i)
    if (kRows[i].*field == name)
      return static_cast<DType>(i);
  return std::nullopt;
}

} // namespace

uint64_t sizeOf(DType type) { return row(type).size; }

bool isFloat(DType type) {
  return type == DType::F32 || type == DType::F16 || type == DType::BF16 ||
         type == DType::F64;
}

bool isInteger(DType type) {
  return type == DType::I64 || type == DType::I32 || type == DType::U8;
}

std::string_view nameOf(DType type) { return row(type).name; }
std::string_view safetensorsNameOf(DType type) { return row(type).safetensors; }

std::optional<DType> dtypeFromName(std::string_view name) {
  return find(name, &Row::name);
}

std::optional<DType> dtypeFromSafetensors(std::string_view name) {
  return find(name, &Row::safetensors);
}

uint16_t toBf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return uint16_t((bits >> 16) | 0x40);
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float fromBf16(uint16_t bits) {
  return std::bit_cast<float>(uint32_t(bits) << 16);
}

uint16_t toF16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint16_t sign = uint16_t((bits >> 16) & 0x8000);
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return sign | 0x7e00;
  if (magnitude >= 0x477ff000) // rounds to 65536 or more
    return sign | 0x7c00;
  if (magnitude < 0x38800000) { // subnormal: in units of 2^-24
    float scaled = std::bit_cast<float>(magnitude) + 0.5f; // ulp is 2^-24
    return sign | uint16_t(std::bit_cast<uint32_t>(scaled) - 0x3f000000);
  }
  uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return sign | uint16_t((rounded - 0x38000000) >> 13);
}

float fromF16(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  uint32_t exponent = (bits >> 10) & 0x1f, mantissa = bits & 0x3ff;
  if (exponent == 0) {
    float value = float(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(value) | sign);
  }
  if (exponent == 31)
    return std::bit_cast<float>(sign | 0x7f800000 | (mantissa << 13));
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) |
                              (mantissa << 13));
}

} // namespace dlc
