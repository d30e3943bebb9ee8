// SPDX-License-Identifier: Apache-2.0
// Values of the ONNX types that are stored in a wider type.
#pragma once
#include <cstdint>

namespace dlc::import {

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
