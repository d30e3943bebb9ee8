// SPDX-License-Identifier: Apache-2.0
// Tensors of any floats as doubles.
#pragma once

#include "runtime/device/commands/Checks.h"
#include "runtime/device/cpu/Half.h"

#include <vector>

namespace dlc::standin {

inline std::vector<double> valuesOf(const Operand &operand) {
  std::vector<double> values(static_cast<size_t>(elements(operand)));
  for (size_t i = 0; i < values.size(); ++i)
    switch (typeOf(operand)) {
    case plan::F16:
      values[i] = toFloat(reinterpret_cast<const F16 *>(operand.data)[i]);
      break;
    case plan::BF16:
      values[i] = toFloat(reinterpret_cast<const Bf16 *>(operand.data)[i]);
      break;
    default:
      values[i] = reinterpret_cast<const float *>(operand.data)[i];
    }
  return values;
}

inline void store(const Operand &operand, const std::vector<double> &values) {
  for (size_t i = 0; i < values.size(); ++i) {
    const float value = static_cast<float>(values[i]);
    switch (typeOf(operand)) {
    case plan::F16:
      reinterpret_cast<F16 *>(operand.data)[i] = roundToF16(value);
      break;
    case plan::BF16:
      reinterpret_cast<Bf16 *>(operand.data)[i] = roundToBf16(value);
      break;
    default:
      reinterpret_cast<float *>(operand.data)[i] = value;
    }
  }
}

} // namespace dlc::standin
