// SPDX-License-Identifier: Apache-2.0
// Element types as stored (Word) and as computed with (Value).
#pragma once

#include "runtime/base/numbers/DType.h"

namespace dlc {

template <class T> struct PlainForm {
  using Word = T;
  using Value = T;
  static T load(T word) { return word; }
  static T store(T value) { return value; }
};
template <float (&kLoad)(uint16_t), uint16_t (&kStore)(float)> struct HalfForm {
  using Word = uint16_t;
  using Value = float;
  static float load(uint16_t word) { return kLoad(word); }
  static uint16_t store(float value) { return kStore(value); }
};
struct BoolForm {
  using Word = uint8_t;
  using Value = uint8_t;
  static uint8_t load(uint8_t word) { return word != 0; }
  static uint8_t store(uint8_t value) { return value != 0; }
};

// Calls f with the form of `type`.
template <class F> auto withForm(DType type, F &&f) {
  switch (type) {
  case DType::F32:
    return f(PlainForm<float>());
  case DType::F16:
    return f(HalfForm<fromF16, toF16>());
  case DType::BF16:
    return f(HalfForm<fromBf16, toBf16>());
  case DType::F64:
    return f(PlainForm<double>());
  case DType::I64:
    return f(PlainForm<int64_t>());
  case DType::I32:
    return f(PlainForm<int32_t>());
  case DType::U8:
    return f(PlainForm<uint8_t>());
  case DType::Bool:
    break;
  }
  return f(BoolForm());
}

} // namespace dlc
