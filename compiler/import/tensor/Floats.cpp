// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/tensor/Floats.h"
#include "runtime/base/numbers/FloatCast.h"
#include <cstring>

namespace dlc::import {

std::vector<float> floatsOf(const Weight &weight) {
  std::vector<float> values(size_t(weight.elements()));
  auto bytes = castFloats(weight.data, values.size(), weight.dtype, DType::F32);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

std::vector<float> floatsOf(const std::string &bytes, DType dtype) {
  return floatsOf({dtype,
                   {int64_t(bytes.size() / sizeOf(dtype))},
                   bytes.data(),
                   bytes.size()});
}

std::string bytesOf(const std::vector<float> &values, DType dtype) {
  auto bytes = castFloats(values.data(), values.size(), DType::F32, dtype);
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

} // namespace dlc::import
