// SPDX-License-Identifier: Apache-2.0
// The loops of batch norm: two passes over x; the first computes sums of
// chunks, which are added in a fixed order.
#pragma once

#include "runtime/device/cpu/Half.h"

namespace dlc {

// x as [rows, lanes, inner]. nchw: N rows, C lanes, H*W inner. nhwc: inner is
// 1, and a row may hold several pixels to fill vectors; lane l is of channel l
// % channels.
struct NormGeometry {
  int64_t rows, lanes, inner, channels;
  int64_t chunkRows, chunks; // chosen from the shape alone: results do not
                             // depend on the number of threads
};

// Per lane: forward y = (x - mean) * a + b; backward dx = a * dy + (x - mean) *
// b + c, where `bias` masks dy: dy is zero where the norm's result (x - mean) *
// a + bias is not above 0. Null: no ReLU.
template <class T> struct NormFactors {
  const Compute<T> *mean, *a, *b, *c, *bias;
};

// The epilogue of the norm, in the same pass: y = relu(norm + residual).
template <class T> struct NormTail {
  const T *residual = nullptr; // null: none
  bool relu = false;
};

// First pass, chunks [begin, end): sums[chunk][0][lane] and
// sums[chunk][1][lane].
#define DLC_NORM_LOOPS(T)                                                      \
  /* of x - pivot and its square; the pivot of a channel is its first element: \
   * it keeps the squares small */                                             \
  void normSums(const NormGeometry &g, const T *x, Compute<T> *sums,           \
                int64_t begin, int64_t end);                                   \
  /* of dy and dy * (x - mean) */                                              \
  void normBackwardSums(const NormGeometry &g, const T *dy, const T *x,        \
                        const NormFactors<T> &f, Compute<T> *sums,             \
                        int64_t begin, int64_t end);                           \
  /* Second pass, rows [begin, end). */                                        \
  void normApply(const NormGeometry &g, const T *x, const NormFactors<T> &f,   \
                 const NormTail<T> &tail, T *y, int64_t begin, int64_t end);   \
  void normBackwardApply(const NormGeometry &g, const T *dy, const T *x,       \
                         const NormFactors<T> &f, T *dx, int64_t begin,        \
                         int64_t end);
DLC_NORM_LOOPS(float)
DLC_NORM_LOOPS(Bf16)
DLC_NORM_LOOPS(F16)
DLC_NORM_LOOPS(double)
#undef DLC_NORM_LOOPS

} // namespace dlc
