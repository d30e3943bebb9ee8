// SPDX-License-Identifier: Apache-2.0
// Element types of tensors, their names in files, and conversions to 16 bits.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace dlc {

enum class DType { F32, F16, BF16, F64, I64, I32, U8, Bool };

uint64_t sizeOf(DType type);
bool isFloat(DType type);
bool isInteger(DType type); // I64, I32, U8

std::string_view nameOf(DType type);            // "f32", "bool"
std::string_view safetensorsNameOf(DType type); // "F32", "BOOL"
std::optional<DType> dtypeFromName(std::string_view name);
std::optional<DType> dtypeFromSafetensors(std::string_view name);

// Bits of the number rounded to nearest, ties to even; NaN remains NaN.
uint16_t toBf16(float value);
uint16_t toF16(float value);
float fromBf16(uint16_t bits);
float fromF16(uint16_t bits);

} // namespace dlc
