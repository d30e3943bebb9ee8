// SPDX-License-Identifier: Apache-2.0
// The loops of poolings over rows of images. Windows are separable: rows are
// combined first, over all depths, then columns; each in one long loop that is
// vectorised even with few channels.
#pragma once

#include "runtime/device/commands/Window.h"
#include "runtime/device/cpu/Half.h"

namespace dlc {

// Planes [depth, height, width, lanes]: an image with channels last is one
// plane of C lanes, one with channels first is C planes of one lane.
struct PoolGeometry {
  int64_t planes, lanes;
  Spatial in, out;
  Window window;
  bool countPad; // avg_pool: whether padding is included

  const Sliding &columns() const { return window.along[2]; }
  // Rows of a plane.
  int64_t inRows() const { return in[0] * in[1]; }
  int64_t outRows() const { return out[0] * out[1]; }
  // Columns of a row with the padding that its windows cover.
  int64_t paddedColumns() const;
  // Bytes of scratch per thread.
  int64_t scratchBytes() const;
};

// Computes rows [begin, end) of the planes * outRows() of y or, for gradients,
// of the planes * inRows() of dx. The index is (kd * KH + kh) * KW + kw; as in
// PyTorch, the first maximum in that order is taken, or the last NaN.
#define DLC_POOL_LOOPS(T)                                                      \
  void maxPoolRows(const PoolGeometry &g, const T *x, T *y, uint8_t *index,    \
                   void *scratch, int64_t begin, int64_t end);                 \
  void avgPoolRows(const PoolGeometry &g, const T *x, T *y, void *scratch,     \
                   int64_t begin, int64_t end);                                \
  void maxPoolBackwardRows(const PoolGeometry &g, const T *dy,                 \
                           const uint8_t *index, T *dx, void *scratch,         \
                           int64_t begin, int64_t end);                        \
  void avgPoolBackwardRows(const PoolGeometry &g, const T *dy, T *dx,          \
                           void *scratch, int64_t begin, int64_t end);
DLC_POOL_LOOPS(float)
DLC_POOL_LOOPS(Bf16)
DLC_POOL_LOOPS(F16)
DLC_POOL_LOOPS(double)
#undef DLC_POOL_LOOPS

} // namespace dlc
