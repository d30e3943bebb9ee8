// SPDX-License-Identifier: Apache-2.0
// Conversion of the plan's element types, and tensor sizes.
#pragma once

#include "runtime/base/numbers/Checked.h"
#include "runtime/base/numbers/DType.h"
#include "runtime/plan/plan.pb.h"

#include <vector>

namespace dlc::plan {

// Nullopt for DTYPE_INVALID and unknown values.
inline std::optional<dlc::DType> dtypeOf(DType type) {
  switch (type) {
  case F32:
    return dlc::DType::F32;
  case F16:
    return dlc::DType::F16;
  case BF16:
    return dlc::DType::BF16;
  case F64:
    return dlc::DType::F64;
  case I64:
    return dlc::DType::I64;
  case I32:
    return dlc::DType::I32;
  case U8:
    return dlc::DType::U8;
  case BOOL:
    return dlc::DType::Bool;
  default:
    return std::nullopt;
  }
}

inline std::vector<int64_t> shapeOf(const TensorType &type) {
  return {type.shape().begin(), type.shape().end()};
}

// Nullopt if the type is unknown, a dimension is negative or the size
// overflows.
inline std::optional<uint64_t> bytesOf(const TensorType &type) {
  const std::optional<dlc::DType> element = dtypeOf(type.dtype());
  const std::optional<uint64_t> count = checkedElements(type.shape());
  return element && count ? checkedMul(*count, sizeOf(*element)) : std::nullopt;
}

} // namespace dlc::plan
