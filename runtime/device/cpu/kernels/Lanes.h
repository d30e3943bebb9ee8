// SPDX-License-Identifier: Apache-2.0
// Vectors of 8 floats, and products of small matrices in registers: pieces of
// multiversioned loops (Simd.h).
#pragma once

#include "runtime/device/cpu/Half.h"

#include <algorithm>

namespace dlc {

using Lanes = float __attribute__((vector_size(32)));
using IntLanes = int32_t __attribute__((vector_size(32)));

DLC_INLINE void read(const float *from, Lanes &to) {
  __builtin_memcpy(&to, from, sizeof to);
}
DLC_INLINE void write(const Lanes &from, float *to) {
  __builtin_memcpy(to, &from, sizeof from);
}
DLC_INLINE float sum(const Lanes &x) {
  return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

template <class T> DLC_INLINE void readAs(const T *from, Lanes &to) {
  float lanes[8];
  for (int l = 0; l < 8; ++l)
    lanes[l] = load(from[l]);
  read(lanes, to);
}

// e^x within 2 ulp; 0 below -87.3, where x is -inf, too. x is at most 88.
DLC_INLINE void exponential(Lanes &x) {
  const Lanes least = Lanes{} - 87.3f, input = x;
  x = x < least ? least : x;
  // The sum with 1.5 * 2^23 rounds to a whole number, in the lowest bits.
  const Lanes shifted = x * 1.44269504f + 12582912.f, n = shifted - 12582912.f;
  x -= n * 0.693145752f;
  x -= n * 1.42860677e-6f;
  Lanes p = Lanes{} + 1.98756912e-4f;
  for (const float c :
       {1.39819994e-3f, 8.33345205e-3f, 4.16657962e-2f, 1.66666657e-1f, 0.5f})
    p = p * x + c;
  p = p * x * x + x + 1.f;
  const IntLanes exponent = (IntLanes(shifted) - 0x4b400000 + 127) << 23;
  p *= Lanes(exponent);
  x = input < least ? Lanes{} : p;
}

// A product of the register block: kRows rows of `a` times a panel of kColumns
// columns of `b`.
struct Block {
  static constexpr int64_t kRows = 6, kColumns = 16;
};

// How a matrix is read: element (i, j) is at i * row + j * column.
struct Strided {
  const float *data;
  int64_t row, column;
};

// c[kRows, kColumns] = or += a b over `inner`; b is a panel: inner rows of
// kColumns. Adds in the order of the inner dimension.
template <bool kAdds>
DLC_INLINE void multiplyBlock(const Strided &a, const float *b, int64_t inner,
                              float *c, int64_t ofRow) {
  Lanes sums[Block::kRows][2];
#pragma GCC unroll 6
  for (int i = 0; i < Block::kRows; ++i)
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j)
      if (kAdds)
        read(c + i * ofRow + j * 8, sums[i][j]);
      else
        sums[i][j] = Lanes{};
  const float *at = a.data;
  for (int64_t l = 0; l < inner; ++l, at += a.column, b += Block::kColumns) {
    Lanes low, high;
    read(b, low);
    read(b + 8, high);
#pragma GCC unroll 6
    for (int i = 0; i < Block::kRows; ++i) {
      const float factor = at[i * a.row];
      sums[i][0] += factor * low;
      sums[i][1] += factor * high;
    }
  }
#pragma GCC unroll 6
  for (int i = 0; i < Block::kRows; ++i)
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j)
      write(sums[i][j], c + i * ofRow + j * 8);
}

// Indices [begin, end).
struct InnerRange {
  int64_t begin, end;
};

// c[rows, columns] = or += a b, rows and columns rounded up to blocks. The
// block at (i, j) sums over innerOf(i, j) and is left alone where that is
// empty. Panels of b are ofPanel floats apart.
template <bool kAdds, class InnerOf>
DLC_INLINE void multiply(const Strided &a, const float *b, int64_t ofPanel,
                         int64_t rows, int64_t columns, InnerOf innerOf,
                         float *c, int64_t ofRow) {
  for (int64_t j = 0; j < columns; j += Block::kColumns)
    for (int64_t i = 0; i < rows; i += Block::kRows) {
      const InnerRange inner = innerOf(i, j);
      if (inner.begin < inner.end)
        multiplyBlock<kAdds>(
            {a.data + i * a.row + inner.begin * a.column, a.row, a.column},
            b + j / Block::kColumns * ofPanel + inner.begin * Block::kColumns,
            inner.end - inner.begin, c + i * ofRow + j, ofRow);
    }
}

// Panels of a row-major [rows, columns] matrix, zeros in columns beyond.
template <class T>
DLC_INLINE void packPanels(const T *from, int64_t ofRow, int64_t rows,
                           int64_t columns, float factor, float *to,
                           int64_t ofPanel) {
  for (int64_t j = 0; j < columns; j += Block::kColumns, to += ofPanel) {
    const int64_t width = std::min(columns - j, Block::kColumns);
    for (int64_t i = 0; i < rows; ++i) {
      float *const row = to + i * Block::kColumns;
      const T *const source = from + i * ofRow + j;
      if (width == Block::kColumns)
        for (int64_t l = 0; l < Block::kColumns; ++l)
          row[l] = load(source[l]) * factor;
      else
        for (int64_t l = 0; l < Block::kColumns; ++l)
          row[l] = l < width ? load(source[l]) * factor : 0;
    }
  }
}

// The lanes of 8 vectors as rows become columns.
DLC_INLINE void transpose(Lanes (&x)[8]) {
  // Pairs of rows, of pairs, of quadruples change places.
  for (int i = 0; i < 8; i += 2) {
    const Lanes a = x[i], b = x[i + 1];
    x[i] = __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14);
    x[i + 1] = __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
  }
  for (int i : {0, 1, 4, 5}) {
    const Lanes a = x[i], b = x[i + 2];
    x[i] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
    x[i + 2] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
  }
  for (int i = 0; i < 4; ++i) {
    const Lanes a = x[i], b = x[i + 4];
    x[i] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
    x[i + 4] = __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

// Panels of the transpose of a row-major [columns, rows] matrix.
template <class T>
DLC_INLINE void packTransposed(const T *from, int64_t ofRow, int64_t rows,
                               int64_t columns, float *to, int64_t ofPanel) {
  for (int64_t j = 0; j < columns + (-columns & (Block::kColumns - 1));
       j += 8) {
    float *const half =
        to + j / Block::kColumns * ofPanel + j % Block::kColumns;
    const int64_t width = std::clamp<int64_t>(columns - j, 0, 8);
    int64_t i = 0;
    for (; width == 8 && i + 8 <= rows; i += 8) {
      Lanes x[8];
#pragma GCC unroll 8
      for (int l = 0; l < 8; ++l)
        readAs(from + (j + l) * ofRow + i, x[l]);
      transpose(x);
#pragma GCC unroll 8
      for (int l = 0; l < 8; ++l)
        write(x[l], half + (i + l) * Block::kColumns);
    }
    for (; i < rows; ++i)
      for (int64_t l = 0; l < 8; ++l)
        half[i * Block::kColumns + l] =
            l < width ? load(from[(j + l) * ofRow + i]) : 0;
  }
}

} // namespace dlc
