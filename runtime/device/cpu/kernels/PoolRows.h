// SPDX-License-Identifier: Apache-2.0
// The rows of an image that a row of a pooling's outputs reads, and the rows of
// outputs that read a row.
#pragma once

#include "runtime/device/cpu/kernels/PoolLoops.h"

namespace dlc {

// Calls tap(row of x, kd * KH + kh) for the rows inside the image that a row of
// outputs of `plane` reads.
template <class T, class F>
DLC_INLINE void forEachRow(const PoolGeometry &g, const T *plane, int64_t row,
                           F &&tap) {
  const Sliding &depths = g.window.along[0], &rows = g.window.along[1];
  const int64_t od = row / g.out[1], oh = row % g.out[1];
  for (int64_t kd = 0; kd < depths.kernel; ++kd) {
    const int64_t id = depths.at(od, kd);
    if (id < 0 || id >= g.in[0])
      continue;
    for (int64_t kh = 0; kh < rows.kernel; ++kh)
      if (const int64_t ih = rows.at(oh, kh); ih >= 0 && ih < g.in[1])
        tap(plane + (id * g.in[1] + ih) * g.in[2] * g.lanes,
            kd * rows.kernel + kh);
  }
}

// Calls tap(row of y in the plane, kd * KH + kh) for the rows of y that read a
// row of x, upwards.
template <class F>
DLC_INLINE void forEachReader(const PoolGeometry &g, int64_t row, F &&tap) {
  const Sliding &depths = g.window.along[0], &rows = g.window.along[1];
  const int64_t id = row / g.in[1], ih = row % g.in[1];
  for (int64_t kd = depths.kernel - 1; kd >= 0; --kd) {
    const int64_t od = depths.reader(id, kd);
    if (od < 0 || od >= g.out[0])
      continue;
    for (int64_t kh = rows.kernel - 1; kh >= 0; --kh)
      if (const int64_t oh = rows.reader(ih, kh); oh >= 0 && oh < g.out[1])
        tap(od * g.out[1] + oh, kd * rows.kernel + kh);
  }
}

// Rows, over all depths, that are included in the divisor of avg_pool.
DLC_INLINE int64_t countedRows(const PoolGeometry &g, int64_t row) {
  const auto &along = g.window.along;
  return along[0].counted(row / g.out[1], g.in[0], g.countPad) *
         along[1].counted(row % g.out[1], g.in[1], g.countPad);
}

} // namespace dlc
