// SPDX-License-Identifier: Apache-2.0
// Reads, compares and rearranges the elements of weights.
#pragma once
#include "compiler/import/tensor/WeightStore.h"
#include <string>
#include <vector>

namespace dlc::import {

/// The elements of a float tensor of any width as f32.
std::vector<float> floatsOf(const Weight &weight);
/// The elements of a tensor of type `dtype`.
std::vector<float> floatsOf(const std::string &bytes, DType dtype);
/// Rounds to `dtype`.
std::string bytesOf(const std::vector<float> &values, DType dtype);

/// All elements of a float tensor are equal: bit for bit, or zeros.
bool isSplat(const Weight &weight);
/// All bits are 0.
bool isZero(std::string_view bytes);
/// The same type, shape and bits.
bool areEqual(const Weight &a, const Weight &b);

/// All slices along `axis` are equal.
bool repeatsAlong(const Weight &weight, size_t axis);
/// The elements at index 0 of `axis`, copied to `bytes`.
Weight firstAlong(const Weight &weight, size_t axis, std::string &bytes);

/// Calls visit(i, j) for each element i of a tensor of this shape transposed by
/// `perm`, which is element j of the tensor itself, until it returns false.
/// Returns whether all were visited.
template <class Visit>
bool walkTransposed(const std::vector<int64_t> &shape,
                    const std::vector<int64_t> &perm, Visit visit) {
  const size_t rank = perm.size();
  std::vector<size_t> strides(rank, 1), index(rank, 0);
  for (size_t d = rank; d-- > 1;)
    strides[d - 1] = strides[d] * size_t(shape[d]);
  size_t count = 1, at = 0;
  for (int64_t size : shape)
    count *= size_t(size);
  for (size_t i = 0; i < count; ++i) {
    if (!visit(i, at))
      return false;
    for (size_t d = rank; d-- > 0;) {
      const size_t axis = size_t(perm[d]), size = size_t(shape[axis]);
      at += strides[axis];
      if (++index[d] < size)
        break;
      at -= strides[axis] * size;
      index[d] = 0;
    }
  }
  return true;
}

/// The elements transposed by `perm`.
std::string transposedBytes(const Weight &weight,
                            const std::vector<int64_t> &perm);

} // namespace dlc::import
