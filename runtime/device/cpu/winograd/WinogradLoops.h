// SPDX-License-Identifier: Apache-2.0
// The loops of Winograd convolutions F(2,3) and F(4,3): 3x3 windows with stride
// 1. A tile of m x m outputs reads n x n inputs, n = m + 2. With Winograd's
// matrices A, B and G
//   y  = A' [ sum over channels of (G w G') * (B' x B) ] A
//   dw = G' [ sum over tiles of (A dy A') * (B' x B) ] G
// where * is elementwise: n * n matrix products, one per plane. An output costs
// n * n / (m * m) multiplications per channel, 4 or 2.25, instead of 9. With m
// = 1 there is no transform and a plane is a tap of any window: the filter
// gradient by plain products of gathered rows.
//
// Images have channels last, and a multiple of kWinogradLanes channels. Images,
// filters and biases are all f32 or one 16-bit type; intermediate values are
// f32, so that 16-bit values are rounded only when they are stored.
#pragma once

#include <cstdint>

namespace dlc {

constexpr int64_t kWinogradLanes = 16; // channels per block: a cache line

// [images, height, width, channels] of the inputs or of the outputs.
struct WinogradImage {
  int64_t height, width, channels;
};

// A 3x3 convolution. Element (o, i) of a filter, for output channel o and input
// channel i, is at outer * o + inner * i + tap * (across.kernel * row + column)
// from `first`: the data gradient swaps o and i and reverses taps.
struct WinogradConv {
  struct Along {
    int64_t kernel = 3, stride = 1, dilation = 1;
  };

  int64_t images;
  WinogradImage in, out;
  int64_t top, left; // padding before the inputs
  int64_t outer, inner, tap, first;
  int64_t tile;                 // m: 4, 2 or 1
  Along down = {}, across = {}; // only m = 1 allows other windows

  int64_t planes() const {
    return tile == 1 ? down.kernel * across.kernel : (tile + 2) * (tile + 2);
  }
  int64_t gradientPlanes() const { return tile == 1 ? 1 : planes(); }
  int64_t rows() const { return (out.height + tile - 1) / tile; }
  int64_t columns() const { return (out.width + tile - 1) / tile; }
  int64_t tiles() const { return images * rows() * columns(); }
};

// Planes that consist of blocks of rows of kWinogradLanes floats.
struct WinogradPlanes {
  float *data;
  int64_t stride; // between planes
  int64_t rows;   // per block

  // Avoids strides for which equal rows of all planes map to a few cache sets.
  static int64_t strideOf(int64_t rows, int64_t blocks) {
    return (rows * blocks | 1) * kWinogradLanes;
  }
  float *at(int64_t plane, int64_t block, int64_t row) const {
    return data + plane * stride + (block * rows + row) * kWinogradLanes;
  }
};

// Planes of filter gradients as a sum of `count` terms, `distance` floats
// apart; with m = 1, of one term.
struct WinogradSums {
  WinogradPlanes first;
  int64_t count = 1, distance = 0;
};

// c[r, :] (+)= sum over blocks and depth of a[r, block, depth] * b[block,
// depth, :], with rows of kWinogradLanes floats, for each of the columns.
struct WinogradProduct {
  const float *a;
  int64_t aRow, aDepth, aBlock; // strides
  int64_t rows, depth, blocks;
  const float *b;
  float *c;
  bool adds;
  int64_t columns = 1;              // at most WinogradLoops::columns
  int64_t bColumn = 0, cColumn = 0; // floats between columns
};

// With m = 1, outputs and filters are null.
struct WinogradLoops {
  int64_t rows;    // rows of a product that are computed together
  int64_t columns; // columns that are computed together
  int64_t lanes;   // floats per vector
  // Transforms tiles [begin, end) of x, of dy and, from planes, of y.
  void (*inputs)(const WinogradConv &conv, const void *x, int64_t begin,
                 int64_t end, const WinogradPlanes &to);
  void (*gradients)(const WinogradConv &conv, const void *dy, int64_t begin,
                    int64_t end, const WinogradPlanes &to);
  void (*outputs)(const WinogradConv &conv, const WinogradPlanes &from,
                  int64_t begin, int64_t end, int64_t block, const void *bias,
                  void *y);
  // Transforms filters of a block of outputs for input channels [begin, end),
  // the rows of planes.
  void (*filters)(const WinogradConv &conv, const void *w, int64_t block,
                  int64_t begin, int64_t end, const WinogradPlanes &to);
  // Transforms block `at` of the sum of `from`, added in order, to dw for a
  // block of inputs and of outputs.
  void (*filterGradients)(const WinogradConv &conv, const WinogradSums &from,
                          int64_t at, int64_t inputs, int64_t outputs,
                          void *dw);
  void (*product)(const WinogradProduct &product);
};

// The fastest loops for this CPU, for tiles of 2 or 4 and images of float, Bf16
// or F16 (Half.h).
template <class E> const WinogradLoops &winogradLoops(int64_t tile);
// The same for m = 1 and f32.
const WinogradLoops &filterLoops();

} // namespace dlc
