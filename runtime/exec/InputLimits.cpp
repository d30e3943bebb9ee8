// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/InputLimits.h"

namespace dlc {

// Integers of an input must be in [0, limit), or [-limit, limit).
template <class T>
static Status checkLimit(const plan::Port &port, const void *data,
                         uint64_t bytes) {
  const T *values = static_cast<const T *>(data);
  const int64_t least = port.from_end() ? -port.limit() : 0;
  for (uint64_t i = 0; i < bytes / sizeof(T); ++i)
    if (const int64_t value = static_cast<int64_t>(values[i]);
        value < least || value >= port.limit())
      return usageError("input '{}': {} at position {} is out of range, "
                        "expected {} to {}",
                        port.name(), value, i, value < 0 ? least : 0,
                        port.limit() - 1);
  return {};
}

Status checkValues(const plan::Port &port, plan::DType type, const void *data,
                   uint64_t bytes) {
  if (port.limit() <= 0)
    return {};
  if (type == plan::I64)
    return checkLimit<int64_t>(port, data, bytes);
  if (type == plan::I32)
    return checkLimit<int32_t>(port, data, bytes);
  return type == plan::U8 ? checkLimit<uint8_t>(port, data, bytes) : Status();
}

} // namespace dlc
