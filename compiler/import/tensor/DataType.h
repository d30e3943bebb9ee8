// SPDX-License-Identifier: Apache-2.0
// ONNX element types, the subset that dlc programs can store, and values of
// those that are stored in a wider type.
#pragma once
#include "runtime/base/numbers/DType.h"
#include <cstdint>
#include <optional>
#include <string>

namespace dlc::import {

/// The type that stores values of onnx::TensorProto::DataType `onnxType`: the
/// same, or a wider one (isNarrow); nullopt if there is none (strings,
/// complex).
std::optional<DType> toDType(int onnxType);
/// Values are stored in a wider type: integers of 2, 4, 16 bits, INT8, UINT32
/// and UINT64 (to 2^63 - 1), floats of 4 and 8 bits.
bool isNarrow(int onnxType);
/// The ONNX type equal to `type`.
int toOnnxType(DType type);
/// "FLOAT", "INT4", ... or "type 99" for undefined types.
std::string onnxTypeName(int onnxType);

/// A narrow integer type; values wrap into its range.
struct SmallInteger {
  int type; // onnx::TensorProto::DataType
  int bits;
  bool isSigned;
};

/// A float of few bits: mantissa bits, exponent range of normal numbers,
/// largest finite number, and result of overflow.
struct SmallFloat {
  int type; // onnx::TensorProto::DataType
  int bits, digits, lowest, highest;
  double most, tooMuch;
  bool hasNegativeZero;
  double ofNan;
};

/// Null for other types.
const SmallInteger *smallInteger(int onnxType);
const SmallFloat *smallFloat(int onnxType);

int64_t wrapTo(const SmallInteger &to, int64_t x);
/// Rounds to nearest, ties to even. Overflow gives the largest finite number if
/// `saturate`, else the type's overflow value.
double roundTo(const SmallFloat &to, double x, bool saturate);

/// Rounding to FLOAT8E8M0: powers of two from 2^-127 to 2^127, and NaN.
enum class PowerRounding { Up, Down, Nearest };
/// Rounds |x|. Values outside of the range are clamped if `saturate`, else NaN.
float roundToPower(float x, PowerRounding rounding, bool saturate);

} // namespace dlc::import
