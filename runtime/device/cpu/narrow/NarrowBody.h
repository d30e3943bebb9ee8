// SPDX-License-Identifier: Apache-2.0
// The loops of NarrowLoops.h. NarrowLoops.cpp includes this for each kind of
// CPU (Levels.h).
#include "runtime/device/cpu/kernels/Lanes.h"

constexpr int kMostVectors = 4, kMostBeside = 6;
// Sums in registers: half of them, or more where a factor needs none.
constexpr int kSums = kLanes == 16 ? 24 : 12;

DLC_INLINE void addTo(const float *old, Lanes &sums) {
  Lanes value;
  read(old, value);
  sums += value;
}

// The rows of the source and of the filter that add to a row of the result.
struct TapRows {
  int64_t count = 0;
  const float *sources[kMostTapRows], *filters[kMostTapRows];
};

// Adds the products of the pixels of a block, `apart` floats from each other,
// to the results of their windows, `toApart` floats from each other, which are
// `ofWindow` floats. `column`: of the first pixel in floats; `vector`: offset
// in the filters.
template <int Beside, int Vectors>
void addBlock(const TapRows &rows, int64_t column, int64_t vector,
              int64_t depth, int64_t apart, int64_t ofDepth, float *to,
              int64_t toApart, int64_t ofWindow) {
  Lanes sums[Beside][Vectors];
#pragma GCC unroll 6
  for (int i = 0; i < Beside; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < Vectors; ++j)
      sums[i][j] = Lanes{};
  for (int64_t t = 0; t < rows.count; ++t) {
    const float *source = rows.sources[t] + column,
                *filter = rows.filters[t] + vector;
    for (int64_t k = 0; k < depth; ++k, ++source, filter += ofDepth) {
      Lanes right[Vectors];
#pragma GCC unroll 4
      for (int j = 0; j < Vectors; ++j)
        read(filter + j * kLanes, right[j]);
#pragma GCC unroll 6
      for (int i = 0; i < Beside; ++i) {
        const float factor = source[i * apart];
#pragma GCC unroll 4
        for (int j = 0; j < Vectors; ++j)
          sums[i][j] += factor * right[j];
      }
    }
  }
  if (toApart >= ofWindow) {
    // Loads need not wait for stores. The last vector of a window may reach
    // into the next one's results, and stores their old values before the new
    // ones.
#pragma GCC unroll 6
    for (int i = 0; i < Beside; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < Vectors; ++j)
        addTo(to + i * toApart + j * kLanes, sums[i][j]);
#pragma GCC unroll 6
    for (int i = 0; i < Beside; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < Vectors; ++j)
        write(sums[i][j], to + i * toApart + j * kLanes);
    return;
  }
#pragma GCC unroll 6
  for (int i = 0; i < Beside; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < Vectors; ++j) {
      addTo(to + i * toApart + j * kLanes, sums[i][j]);
      write(sums[i][j], to + i * toApart + j * kLanes);
    }
}

using AddBlock = decltype(addBlock<1, 1>);

template <int Vectors, int... Beside>
DLC_INLINE AddBlock *blockOf(int64_t beside,
                             std::integer_sequence<int, Beside...>) {
  static constexpr AddBlock *blocks[] = {addBlock<Beside + 1, Vectors>...};
  return blocks[beside - 1];
}
template <int Vectors> DLC_INLINE AddBlock *blockOf(int64_t beside) {
  constexpr int kMost =
      kSums / Vectors < kMostBeside ? kSums / Vectors : kMostBeside;
  return blockOf<Vectors>(beside, std::make_integer_sequence<int, kMost>());
}
DLC_INLINE AddBlock *blockOf(int64_t vectors, int64_t beside) {
  return vectors == 1   ? blockOf<1>(beside)
         : vectors == 2 ? blockOf<2>(beside)
         : vectors == 3 ? blockOf<3>(beside)
                        : blockOf<4>(beside);
}

DLC_INLINE int64_t wholeLines(int64_t floats) { return roundUp(floats, 16); }

DLC_INLINE NarrowPlan narrowPlan(const NarrowShape &c) {
  constexpr int64_t kSource = 32 << 10; // floats that stay in the L2 cache
  constexpr int64_t kFewWindows = 4;    // in a row: too few sums at once
  NarrowPlan p;
  p.vectors = (c.kernelColumns * c.channels + kLanes - 1) / kLanes;
  const int64_t atOnce = std::min<int64_t>(p.vectors, kMostVectors),
                most = std::min<int64_t>(kSums / atOnce, kMostBeside),
                windows = (c.columns - 1) / c.kernelColumns + 1;
  p.step = windows < kFewWindows ? 1 : c.kernelColumns;
  const int64_t pixels = (c.columns - 1) / p.step + 1;
  p.blocks = (pixels - 1) / most + 1;
  p.beside = (pixels - 1) / p.blocks + 1;
  const int64_t columns = p.columns(), row = columns * c.depth;
  p.together =
      std::clamp<int64_t>(kSource / row - (c.kernelRows - 1), 1, c.outRows);
  p.filterFloats = wholeLines(c.kernelRows * c.depth * p.vectors * kLanes);
  p.sourceFloats = wholeLines((p.together + c.kernelRows - 1) * row);
  p.rowFloats = wholeLines(
      std::max(columns + c.kernelColumns - 1, c.lowColumn + c.outColumns) *
          c.channels +
      p.vectors * kLanes);
  return p;
}

// Copies rows [begin, end) of a source image, those that exist, with zeros
// behind their end.
template <class T>
DLC_INLINE void copySource(const NarrowShape &c, int64_t row, const T *image,
                           int64_t begin, int64_t end, float *to) {
  const int64_t width = c.columns * c.depth;
  for (int64_t y = begin; y < end; ++y, to += row) {
    if (y < 0 || y >= c.rows)
      continue;
    const T *const from = image + y * width;
    for (int64_t j = 0; j < width; ++j)
      to[j] = load(from[j]);
    for (int64_t j = width; j < row; ++j)
      to[j] = 0;
  }
}

// Adds the products of rows of the source to a row of sums.
DLC_INLINE void addRow(const NarrowShape &c, const NarrowPlan &p,
                       const TapRows &rows, float *sums) {
  const int64_t ofDepth = p.vectors * kLanes,
                window = c.kernelColumns * c.channels;
  for (int64_t v = 0; v < p.vectors; v += kMostVectors) {
    AddBlock *const add =
        blockOf(std::min<int64_t>(p.vectors - v, kMostVectors), p.beside);
    for (int64_t block = 0; block < p.blocks; ++block)
      for (int64_t r = 0; r < p.step; ++r) {
        const int64_t column = block * p.beside * p.step + r;
        add(rows, column * c.depth, v * kLanes, c.depth, p.step * c.depth,
            ofDepth, sums + column * c.channels + v * kLanes,
            p.step * c.channels, window);
      }
  }
}

template <class T>
void runNarrow(const NarrowShape &c, const NarrowPlan &p, const T *source,
               const float *filter, const T *bias, T *result, float *scratch,
               int64_t begin, int64_t end) {
  float *const sums = scratch + p.sourceFloats, *const first =
                                                    sums + p.rowFloats;
  const int64_t row = p.columns() * c.depth,
                ofTap = c.depth * p.vectors * kLanes,
                width = c.outColumns * c.channels;
  for (int64_t j = 0; j < p.rowFloats; ++j)
    first[j] = bias ? load(bias[j % c.channels]) : 0;
  TapRows rows;
  while (begin < end) {
    const int64_t image = begin / c.outRows, y = begin % c.outRows,
                  lowest = y + c.lowRow - (c.kernelRows - 1),
                  count = std::min({p.together, c.outRows - y, end - begin});
    copySource(c, row, source + image * c.rows * c.columns * c.depth, lowest,
               lowest + count + c.kernelRows - 1, scratch);
    for (int64_t i = 0; i < count; ++i, ++begin) {
      rows.count = 0;
      for (int64_t tap = 0; tap < c.kernelRows; ++tap) {
        const int64_t at = i + c.kernelRows - 1 - tap;
        if (lowest + at < 0 || lowest + at >= c.rows)
          continue;
        rows.sources[rows.count] = scratch + at * row;
        rows.filters[rows.count++] = filter + tap * ofTap;
      }
      __builtin_memcpy(sums, first, p.rowFloats * sizeof(float));
      addRow(c, p, rows, sums);
      T *const to = result + begin * width;
      const float *const from = sums + c.lowColumn * c.channels;
      for (int64_t j = 0; j < width; ++j)
        store(to[j], from[j]);
    }
  }
}

template <class T>
constexpr NarrowLoops<T> kNarrowLoops = {kLanes, narrowPlan, runNarrow<T>};
