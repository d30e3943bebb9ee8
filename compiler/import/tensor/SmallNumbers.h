// SPDX-License-Identifier: Apache-2.0
// Number types that a wider one holds: what they can represent.
#pragma once
#include <cstdint>

namespace dlc::import {

/// Integers wrap into the range.
struct SmallInteger {
  int type; // onnx::TensorProto::DataType
  int bits;
  bool isSigned;
};

/// A float of few bits: digits behind the binary point, the exponents of its
/// normal numbers, the greatest number, and what is too much.
struct SmallFloat {
  int type; // onnx::TensorProto::DataType
  int bits, digits, lowest, highest;
  double most, tooMuch;
  bool hasNegativeZero;
  double ofNan;
};

/// Null for every other type.
const SmallInteger *smallInteger(int onnxType);
const SmallFloat *smallFloat(int onnxType);

int64_t wrapTo(const SmallInteger &to, int64_t x);
/// To nearest, ties to even. What passes the greatest number is `saturated`, or
/// becomes what the type has for too much.
double roundTo(const SmallFloat &to, double x, bool saturate);

/// FLOAT8E8M0 has the powers of two from 2^-127 to 2^127 and NaN.
enum class PowerRounding { Up, Down, Nearest };
/// Of |x|; `saturate` keeps what is outside of the range at its ends, else it
/// becomes NaN.
float roundToPower(float x, PowerRounding rounding, bool saturate);

} // namespace dlc::import
