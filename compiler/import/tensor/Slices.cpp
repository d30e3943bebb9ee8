// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/tensor/Slices.h"
#include <cstring>

namespace dlc::import {

bool repeatsAlong(const Weight &weight, size_t axis) {
  size_t inner = sizeOf(weight.dtype);
  for (size_t d = axis + 1; d < weight.shape.size(); ++d)
    inner *= size_t(weight.shape[d]);
  size_t count = size_t(weight.shape[axis]), block = inner * count;
  const char *data = static_cast<const char *>(weight.data);
  for (size_t at = 0; at < weight.bytes; at += block)
    if (std::memcmp(data + at, data + at + inner, block - inner) != 0)
      return false;
  return true;
}

Weight firstAlong(const Weight &weight, size_t axis, std::string &bytes) {
  size_t inner = sizeOf(weight.dtype);
  for (size_t d = axis + 1; d < weight.shape.size(); ++d)
    inner *= size_t(weight.shape[d]);
  size_t block = inner * size_t(weight.shape[axis]);
  const char *data = static_cast<const char *>(weight.data);
  std::string kept;
  for (size_t at = 0; at < weight.bytes; at += block)
    kept.append(data + at, inner);
  bytes = std::move(kept);
  Weight smaller = weight;
  smaller.shape[axis] = 1;
  smaller.data = bytes.data();
  smaller.bytes = bytes.size();
  return smaller;
}

} // namespace dlc::import
