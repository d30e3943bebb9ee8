// SPDX-License-Identifier: Apache-2.0
// The loops of Winograd's convolutions F(2,3) and F(4,3): 3x3 windows that move
// by one. A tile of m x m outputs reads n x n inputs, n = m + 2. With its
// matrices A, B and G
//   y  = A' [ sum over channels of (G w G') * (B' x B) ] A
//   dw = G' [ sum over tiles of (A dy A') * (B' x B) ] G
// where * is by element: n * n matrix products, a plane each. So an output
// costs n * n / (m * m) products a channel, 4 or 2.25, in place of 9.
// With m = 1 nothing is transformed and a plane is a tap of any window: the
// filters' gradient as plain products of packed rows.
//
// Images are channels last; channels are a multiple of kWinogradLanes. Images,
// filters and biases are f32 or halves, all of one type; what is between them
// is f32, so that halves round where they are stored and nowhere else.
#pragma once

#include <cstdint>

namespace dlc {

constexpr int64_t kWinogradLanes = 16; // channels of a block: a cache line

// x [images, height, width, channels]: of the inputs, of the outputs.
struct WinogradImage {
  int64_t height, width, channels;
};

// A 3x3 convolution. A filter's element is at outer * o + inner * i + tap *
// (across.kernel * row + column) from `first`, o a channel of the outputs and i
// of the inputs: the gradient of the data swaps them and walks taps backwards.
struct WinogradConv {
  struct Along {
    int64_t kernel = 3, stride = 1, dilation = 1;
  };

  int64_t images;
  WinogradImage in, out;
  int64_t top, left; // zeros before the inputs
  int64_t outer, inner, tap, first;
  int64_t tile;                 // m: 4, 2 or 1
  Along down = {}, across = {}; // others than these with m = 1 alone

  int64_t planes() const {
    return tile == 1 ? down.kernel * across.kernel : (tile + 2) * (tile + 2);
  }
  int64_t gradientPlanes() const { return tile == 1 ? 1 : planes(); }
  int64_t rows() const { return (out.height + tile - 1) / tile; }
  int64_t columns() const { return (out.width + tile - 1) / tile; }
  int64_t tiles() const { return images * rows() * columns(); }
};

// Planes of blocks of rows of kWinogradLanes floats.
struct WinogradPlanes {
  float *data;
  int64_t stride; // from plane to plane
  int64_t rows;   // of a block

  // Rows of equal number in all planes would else share a few sets of a cache.
  static int64_t strideOf(int64_t rows, int64_t blocks) {
    return (rows * blocks | 1) * kWinogradLanes;
  }
  float *at(int64_t plane, int64_t block, int64_t row) const {
    return data + plane * stride + (block * rows + row) * kWinogradLanes;
  }
};

// c[r, :] (+)= sum over blocks and depth of a[r, block, depth] *
// b[block, depth, :], rows of kWinogradLanes floats, for each of the columns.
struct WinogradProduct {
  const float *a;
  int64_t aRow, aDepth, aBlock; // strides
  int64_t rows, depth, blocks;
  const float *b;
  float *c;
  bool adds;
  int64_t columns = 1;              // at most WinogradLoops::columns
  int64_t bColumn = 0, cColumn = 0; // floats from column to column
};

// With m = 1 there are neither outputs nor filters.
struct WinogradLoops {
  int64_t rows;    // of a product that are computed together
  int64_t columns; // likewise
  int64_t lanes;   // floats of a vector
  // Tiles [begin, end) of x, of dy and, from their planes, of y.
  void (*inputs)(const WinogradConv &conv, const void *x, int64_t begin,
                 int64_t end, const WinogradPlanes &to);
  void (*gradients)(const WinogradConv &conv, const void *dy, int64_t begin,
                    int64_t end, const WinogradPlanes &to);
  void (*outputs)(const WinogradConv &conv, const WinogradPlanes &from,
                  int64_t begin, int64_t end, int64_t block, const void *bias,
                  void *y);
  // Filters of a block of outputs, input channels [begin, end) in rows.
  void (*filters)(const WinogradConv &conv, const void *w, int64_t block,
                  int64_t begin, int64_t end, const WinogradPlanes &to);
  // Block `at` of `from`: dw of a block of inputs, in rows, and of outputs.
  void (*filterGradients)(const WinogradConv &conv, const WinogradPlanes &from,
                          int64_t at, int64_t inputs, int64_t outputs,
                          void *dw);
  void (*product)(const WinogradProduct &product);
};

// The fastest for this CPU, with tiles of 2 or 4: of images of float, Bf16 or
// F16 (Half.h).
template <class E> const WinogradLoops &winogradLoops(int64_t tile);
// With m = 1, of f32.
const WinogradLoops &filterLoops();

} // namespace dlc
