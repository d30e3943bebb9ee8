// SPDX-License-Identifier: Apache-2.0
// Movement ops as strided views, which map each element of the result to an
// element of the operand; and row-major walks over several tensors at once.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace dlc::reference {

using Shape = std::vector<int64_t>;

/// Distance in elements of consecutive indices in each dimension.
inline Shape stridesOf(const Shape &shape) {
  Shape strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i])
    strides[i] = stride;
  return strides;
}

/// The strides of `x` broadcast to shape `y`: 0 in broadcast dimensions.
inline Shape broadcastStrides(const Shape &x, const Shape &y) {
  Shape own = stridesOf(x), strides(y.size(), 0);
  size_t lead = y.size() - x.size();
  for (size_t d = 0; d < x.size(); ++d)
    strides[lead + d] = x[d] == 1 ? 0 : own[d];
  return strides;
}

/// A row-major tensor viewed in another shape: element `first` plus the sum of
/// each index times its stride.
struct View {
  Shape shape, strides;
  int64_t first = 0;
};

/// Dimension d is dimension perm[d] of x.
inline View transposed(const Shape &x, const Shape &perm) {
  View view;
  const Shape own = stridesOf(x);
  for (int64_t axis : perm) {
    view.shape.push_back(x[axis]);
    view.strides.push_back(own[axis]);
  }
  return view;
}
/// Element i of a dimension is element starts + i * steps; steps may be
/// negative.
inline View sliced(const Shape &x, const Shape &starts, const Shape &sizes,
                   const Shape &steps) {
  View view{sizes, stridesOf(x)};
  for (size_t d = 0; d < x.size(); ++d) {
    view.first += starts[d] * view.strides[d];
    view.strides[d] *= steps[d];
  }
  return view;
}
/// Broadcasts as numpy does.
inline View broadcast(const Shape &x, const Shape &to) {
  return {to, broadcastStrides(x, to)};
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

} // namespace dlc::reference
