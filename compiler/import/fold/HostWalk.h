// Row-major walks over several host tensors at once, each by its strides.
#pragma once
#include "compiler/import/tensor/ShapeMath.h"
#include <algorithm>
#include <array>

namespace dlc::import {

/// Elements from one index of a dimension to the next.
inline Shape stridesOf(const Shape &shape) {
  Shape strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i])
    strides[i] = stride;
  return strides;
}

/// Those of `x` seen in the shape `y` that it broadcasts to: 0 where it is
/// repeated.
inline Shape broadcastStrides(const Shape &x, const Shape &y) {
  Shape own = stridesOf(x), strides(y.size(), 0);
  size_t lead = y.size() - x.size();
  for (size_t d = 0; d < x.size(); ++d)
    strides[lead + d] = x[d] == 1 ? 0 : own[d];
  return strides;
}

/// Calls step(i, at) for the i-th element of `shape`, where at[k] is the
/// element of the k-th operand: from[k] plus each index times strides[k].
template <size_t N, class Step>
void walk(const Shape &shape, const std::array<Shape, N> &strides,
          std::array<int64_t, N> from, Step step) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end())
    return;
  const size_t rank = shape.size();
  const int64_t run = rank ? shape.back() : 1;
  Shape index(rank, 0);
  for (int64_t i = 0;; i += run) {
    std::array<int64_t, N> at = from;
    for (int64_t j = 0; j < run; ++j) {
      step(i + j, at);
      for (size_t k = 0; rank && k < N; ++k)
        at[k] += strides[k].back();
    }
    size_t d = rank ? rank - 1 : 0;
    for (; d > 0; --d) {
      for (size_t k = 0; k < N; ++k)
        from[k] += strides[k][d - 1];
      if (++index[d - 1] < shape[d - 1])
        break;
      for (size_t k = 0; k < N; ++k)
        from[k] -= strides[k][d - 1] * shape[d - 1];
      index[d - 1] = 0;
    }
    if (d == 0)
      return;
  }
}

} // namespace dlc::import
