// SPDX-License-Identifier: Apache-2.0
// Instantiates code for all float types, with typed access to operands.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/device/cpu/Half.h"

namespace dlc {

template <class T> T *as(const Operand &operand) {
  return reinterpret_cast<T *>(operand.data);
}

// Calls fn with a value of the element type: float, F16, Bf16 or double.
// Returns what fn returns.
template <class F> auto dispatchFloat(plan::DType type, F &&fn) {
  switch (type) {
  case plan::F16:
    return fn(F16{});
  case plan::BF16:
    return fn(Bf16{});
  case plan::F64:
    return fn(double{});
  default:
    return fn(float{});
  }
}

} // namespace dlc
