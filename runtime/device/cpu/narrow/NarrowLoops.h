// SPDX-License-Identifier: Apache-2.0
// Convolutions whose result has fewer channels than a vector has lanes, with
// stride 1 and channels last. oneDNN pads such channels to a vector. Here a
// pixel of the source adds to all results of a row that its window reaches:
// kernel columns times channels, which are adjacent in memory,
//   y[Y, x + tap, c] += sum over ky, k of source[Y + low - ky, x, k]
//                                         filter[ky, k, tap, c].
// A forward convolution has that form with its taps in reverse order.
#pragma once

#include "runtime/device/cpu/Half.h"

#include <cstdint>

namespace dlc {

constexpr int64_t kMostTapRows = 64; // rows of a window

struct NarrowShape {
  int64_t images;
  int64_t rows, columns, depth;          // of the source, and its channels
  int64_t outRows, outColumns, channels; // of the result
  int64_t kernelRows, kernelColumns;
  // Row Y of the result reads the source's rows from Y + lowRow - (kernelRows -
  // 1) to Y + lowRow; its columns begin at position lowColumn of those that the
  // source's windows reach.
  int64_t lowRow, lowColumn;
};

// How the loops divide one.
struct NarrowPlan {
  int64_t vectors;  // of a window's row
  int64_t beside;   // pixels of a block, `step` apart
  int64_t step;     // kernelColumns, or 1 in short rows
  int64_t blocks;   // of a row
  int64_t together; // rows of the result per item

  // Whole cache lines: of the filter, what is copied of a source image, and a
  // row of sums.
  int64_t filterFloats, sourceFloats, rowFloats;

  // Pixels of a row, with those that fill the last block.
  int64_t columns() const { return blocks * beside * step; }
};

template <class T> struct NarrowLoops {
  int64_t lanes;
  // What a row of a source image, of the result's sums and the filter take.
  NarrowPlan (*plan)(const NarrowShape &conv);
  // Rows [begin, end) of the images * outRows of the result. `filter`: [kernel
  // rows, depth, vectors of a window's row], zeros behind its end. `bias`:
  // null, or a value per channel. `scratch`: sourceFloats + 2 rowFloats.
  void (*run)(const NarrowShape &conv, const NarrowPlan &plan, const T *source,
              const float *filter, const T *bias, T *result, float *scratch,
              int64_t begin, int64_t end);
};

// The fastest loops for this CPU; T: float, Bf16 or F16.
template <class T> const NarrowLoops<T> &narrowLoops();

} // namespace dlc
