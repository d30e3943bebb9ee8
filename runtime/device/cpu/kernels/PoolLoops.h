// The loops of the poolings, on rows of images.
#pragma once

#include "runtime/device/cpu/Bf16.h"
#include "runtime/device/cpu/Window.h"

namespace dlc {

// Planes of [h, w, lanes]: an nhwc image is one plane of C lanes, an nchw image
// C planes of one lane.
struct PoolGeometry {
  int64_t planes, ih, iw, oh, ow, lanes;
  Window window;
  bool countPad; // avg_pool: padding counts as zeros
};

// Rows [begin, end) of the planes * oh rows of y. The index is kh * KW + kw;
// the first maximum in that order wins, a NaN wins over everything, as in
// PyTorch.
#define DLC_POOL_LOOPS(T)                                                      \
  void maxPoolRows(const PoolGeometry &g, const T *x, T *y, uint8_t *index,    \
                   int64_t begin, int64_t end);                                \
  void avgPoolRows(const PoolGeometry &g, const T *x, T *y, int64_t begin,     \
                   int64_t end);                                               \
  /* Rows [begin, end) of the planes * ih rows of dx; `sums` holds iw * lanes  \
   * elements. */                                                              \
  void maxPoolBackwardRows(const PoolGeometry &g, const T *dy,                 \
                           const uint8_t *index, T *dx, Compute<T> *sums,      \
                           int64_t begin, int64_t end);                        \
  void avgPoolBackwardRows(const PoolGeometry &g, const T *dy, T *dx,          \
                           Compute<T> *sums, int64_t begin, int64_t end);
DLC_POOL_LOOPS(float)
DLC_POOL_LOOPS(Bf16)
DLC_POOL_LOOPS(double)
#undef DLC_POOL_LOOPS

} // namespace dlc
