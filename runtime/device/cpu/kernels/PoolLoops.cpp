// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/kernels/PoolLoops.h"
#include "runtime/device/cpu/kernels/PoolRows.h"

namespace dlc {

int64_t PoolGeometry::paddedColumns() const {
  const Sliding &w = columns();
  const int64_t read = (out[2] - 1) * w.stride + w.span();
  return w.low + in[2] > read ? w.low + in[2] : read;
}

/// Elements of a vector, or of several.
constexpr int64_t kVector = 16;

static DLC_INLINE int64_t wholeVectors(int64_t elements) {
  return (elements + kVector - 1) / kVector * kVector;
}
static int64_t paddedLanes(const PoolGeometry &g) {
  return wholeVectors(g.paddedColumns() * g.lanes) + kVector;
}

int64_t PoolGeometry::scratchBytes() const {
  return paddedLanes(*this) *
         (6 * sizeof(double) + 2 * sizeof(int32_t) + sizeof(uint8_t));
}

namespace {

constexpr int64_t kManyLanes = kVector; // worth a loop over a column's lanes
constexpr int32_t kNone = 1 << 20;      // position of missing elements

// Two rows of padded lanes with values and positions; values and divisors of a
// row of outputs; rows of x or y and of the index for loops over whole vectors.
template <class T> struct Scratch {
  Compute<T> *a, *b, *row, *divisors;
  T *whole, *written;
  int32_t *atA, *atB;
  uint8_t *index;

  DLC_INLINE Scratch(const PoolGeometry &g, void *memory) {
    const int64_t n = paddedLanes(g);
    a = static_cast<Compute<T> *>(memory);
    b = a + n;
    row = b + n;
    divisors = row + n;
    atA = reinterpret_cast<int32_t *>(divisors + n);
    atB = atA + n;
    whole = reinterpret_cast<T *>(atB + n);
    written = whole + n;
    index = reinterpret_cast<uint8_t *>(written + n);
  }
};

// The positions of a row's outputs in the padded row. With few lanes, loops
// also run over the columns in between (step is the stride); with many, only
// over the lanes of each output (step is 1 where results are stored). A single
// segment has whole vectors, and unused elements at its end.
struct Segments {
  int64_t count, length, stride, step;

  DLC_INLINE explicit Segments(const PoolGeometry &g) {
    const int64_t outputs = g.out[2], apart = g.columns().stride;
    const bool many = g.lanes >= kManyLanes || outputs == 1;
    count = many ? outputs : 1;
    length = many ? g.lanes : ((outputs - 1) * apart + 1) * g.lanes;
    stride = apart * g.lanes;
    step = many ? 1 : apart;
    if (count == 1)
      length = wholeVectors(length);
  }
};

template <class T>
DLC_INLINE void countColumns(const PoolGeometry &g, Compute<T> *divisors) {
  for (int64_t ow = 0; ow < g.out[2]; ++ow)
    for (int64_t l = 0; l < g.lanes; ++l)
      divisors[ow * g.lanes + l] =
          static_cast<Compute<T>>(g.columns().counted(ow, g.in[2], g.countPad));
}

// A row that loops may read, or write, up to a whole vector: `row`, or `whole`.
template <class T>
DLC_INLINE const T *readWhole(const T *row, int64_t count, T *whole) {
  if (count % kVector == 0)
    return row;
  __builtin_memcpy(whole, row, count * sizeof(T));
  return whole;
}
template <class T> DLC_INLINE T *writeWhole(T *row, int64_t count, T *whole) {
  return count % kVector == 0 ? row : whole;
}
template <class T>
DLC_INLINE void finishWhole(const T *written, int64_t count, T *row) {
  if (written != row)
    __builtin_memcpy(row, written, count * sizeof(T));
}

// Copies `count` elements, between N and 2 N, as two vectors.
template <int N, class C>
DLC_INLINE void copyTwice(const C *from, C *to, int64_t count) {
  C first[N], last[N];
  __builtin_memcpy(first, from, sizeof first);
  __builtin_memcpy(last, from + count - N, sizeof last);
  __builtin_memcpy(to, first, sizeof first);
  __builtin_memcpy(to + count - N, last, sizeof last);
}

// Copies the lanes of each output of a row from one distance to another, which
// may be in place if the outputs move closer.
template <class C>
DLC_INLINE void moveOutputs(const PoolGeometry &g, const C *from,
                            int64_t distance, C *to, int64_t newDistance) {
  const int64_t n = g.lanes;
  for (int64_t ow = 0; ow < g.out[2];
       ++ow, from += distance, to += newDistance) {
    if (n >= 8)
      copyTwice<8>(from, to, n);
    else if (n >= 4)
      copyTwice<4>(from, to, n);
    else if (n >= 2)
      copyTwice<2>(from, to, n);
    else
      *to = *from;
  }
}

// Moves the outputs of a row, whose positions are among the segments, together.
template <class C>
DLC_INLINE void gatherOutputs(const PoolGeometry &g, const Segments &segments,
                              C *row) {
  if (g.lanes == 1 && segments.step == 2) {
#pragma omp simd
    for (int64_t ow = 0; ow < g.out[2]; ++ow)
      row[ow] = row[ow * 2];
  } else if (segments.step != 1) {
    moveOutputs(g, row, segments.step * g.lanes, row, g.lanes);
  }
}

// Copies outputs of a row to their positions among the segments.
template <class C>
DLC_INLINE void spreadOutputs(const PoolGeometry &g, const Segments &segments,
                              const C *__restrict row, C *__restrict to) {
  if (segments.step == 1) {
#pragma omp simd
    for (int64_t j = 0; j < g.out[2] * g.lanes; ++j)
      to[j] = row[j];
  } else if (g.lanes == 1 && segments.step == 2) {
#pragma omp simd
    for (int64_t ow = 0; ow < g.out[2]; ++ow)
      to[ow * 2] = row[ow];
  } else {
    moveOutputs(g, row, g.lanes, to, segments.step * g.lanes);
  }
}

// Taps are taken in order of their position: of equal values the first counts,
// of NaNs the last.
template <class C>
DLC_INLINE void take(C &best, int32_t &at, C value, int32_t position) {
  const bool better = (value > best) | (value != value);
  best = better ? value : best;
  at = better ? position : at;
}

// The rows inside the image that a row of outputs reads, and the positions of
// their first taps.
template <class T> struct TapRows {
  static constexpr int64_t kMost = 255;
  const T *rows[kMost];
  int64_t positions[kMost], count = 0;

  DLC_INLINE TapRows(const PoolGeometry &g, const T *plane, int64_t row) {
    forEachRow(
        g, plane,
        row, [&](const T *from, int64_t kh) __attribute__((always_inline)) {
          rows[count] = from;
          positions[count++] = kh * g.columns().kernel;
        });
  }
};

// Lanes [lane, lane + kCount) of an output, which stay in registers or in the
// L1 cache for all taps, despite the rows in between.
template <int kCount, class T>
DLC_INLINE void maxOutput(const PoolGeometry &g, const TapRows<T> &taps,
                          int64_t ow, int64_t lane, T *y, uint8_t *index) {
  const Sliding &w = g.columns();
  Compute<T> best[kCount];
  int32_t at[kCount];
  for (int l = 0; l < kCount; ++l)
    best[l] = -__builtin_inff(), at[l] = kNone;
  for (int64_t r = 0; r < taps.count; ++r)
    for (int64_t kw = 0; kw < w.kernel; ++kw) {
      const int64_t iw = w.at(ow, kw);
      if (iw < 0 || iw >= g.in[2])
        continue;
      const T *__restrict from = taps.rows[r] + iw * g.lanes + lane;
      const auto position = static_cast<int32_t>(taps.positions[r] + kw);
#pragma omp simd simdlen(16)
      for (int l = 0; l < kCount; ++l)
        take(best[l], at[l], load(from[l]), position);
    }
#pragma omp simd simdlen(16)
  for (int l = 0; l < kCount; ++l) {
    store(y[lane + l], best[l]);
    index[lane + l] = static_cast<uint8_t>(at[l] >= kNone ? 0 : at[l]);
  }
}

// With many lanes. The last vector of lanes that do not fill it begins earlier,
// and computes some lanes a second time.
template <class T>
DLC_INLINE void maxLanes(const PoolGeometry &g, const T *x, T *y,
                         uint8_t *index, int64_t begin, int64_t end) {
  constexpr int64_t kMany = 4 * kVector;
  const int64_t plane = g.inRows() * g.in[2] * g.lanes;
  for (int64_t row = begin; row < end; ++row) {
    const TapRows<T> taps(g, x + row / g.outRows() * plane, row % g.outRows());
    for (int64_t ow = 0; ow < g.out[2]; ++ow) {
      const int64_t to = (row * g.out[2] + ow) * g.lanes;
      int64_t lane = 0;
      for (; lane + kMany <= g.lanes; lane += kMany)
        maxOutput<kMany>(g, taps, ow, lane, y + to, index + to);
      for (; lane < g.lanes; lane += kVector) {
        const int64_t last = g.lanes - kVector;
        maxOutput<kVector>(g, taps, ow, lane < last ? lane : last, y + to,
                           index + to);
      }
    }
  }
}

template <class T>
DLC_INLINE void maxRows(const PoolGeometry &g, const T *x, T *y, uint8_t *index,
                        void *memory, int64_t begin, int64_t end) {
  using C = Compute<T>;
  if (g.lanes >= kManyLanes)
    return maxLanes(g, x, y, index, begin, end);
  const Scratch<T> s(g, memory);
  const Sliding &w = g.columns();
  const Segments segments(g);
  const int64_t width = g.in[2] * g.lanes, outputs = g.out[2] * g.lanes;
  C *__restrict best = s.b;
  int32_t *__restrict at = s.atB;
  for (int64_t j = 0; j < wholeVectors(g.paddedColumns() * g.lanes); ++j)
    store(s.whole[j], -__builtin_inff());
  for (int64_t row = begin; row < end; ++row) {
#pragma omp simd
    for (int64_t j = 0; j < segments.length; ++j)
      best[j] = -__builtin_inff(), at[j] = kNone;
    forEachRow(
        g, x + row / g.outRows() * g.inRows() * width, row % g.outRows(),
        [&](const T *from, int64_t kh) __attribute__((always_inline)) {
          __builtin_memcpy(s.whole + w.low * g.lanes, from, width * sizeof(T));
          for (int64_t kw = 0; kw < w.kernel; ++kw) {
            const T *const tap = s.whole + kw * w.dilation * g.lanes;
            const auto position = static_cast<int32_t>(kh * w.kernel + kw);
#pragma omp simd simdlen(16)
            for (int64_t j = 0; j < segments.length; ++j)
              take(best[j], at[j], load(tap[j]), position);
          }
        });
    gatherOutputs(g, segments, best);
    gatherOutputs(g, segments, at);
    T *__restrict out = writeWhole(y + row * outputs, outputs, s.written);
    uint8_t *__restrict outAt =
        writeWhole(index + row * outputs, outputs, s.index);
#pragma omp simd simdlen(16)
    for (int64_t j = 0; j < wholeVectors(outputs); ++j) {
      store(out[j], best[j]);
      outAt[j] = static_cast<uint8_t>(at[j] >= kNone ? 0 : at[j]);
    }
    finishWhole(out, outputs, y + row * outputs);
    finishWhole(outAt, outputs, index + row * outputs);
  }
}

template <class T>
DLC_INLINE void avgRows(const PoolGeometry &g, const T *x, T *y, void *memory,
                        int64_t begin, int64_t end) {
  using C = Compute<T>;
  const Scratch<T> s(g, memory);
  const Sliding &w = g.columns();
  const Segments segments(g);
  const int64_t padded = g.paddedColumns() * g.lanes, width = g.in[2] * g.lanes,
                outputs = g.out[2] * g.lanes;
  C *__restrict column = s.a, *__restrict sum = s.b;
  countColumns<T>(g, s.divisors);
  for (int64_t j = width; j < wholeVectors(width); ++j)
    store(s.whole[j], 0);
  for (int64_t row = begin; row < end; ++row) {
#pragma omp simd
    for (int64_t j = 0; j < wholeVectors(padded); ++j)
      column[j] = 0;
    C *__restrict inside = column + w.low * g.lanes;
    forEachRow(
        g, x + row / g.outRows() * g.inRows() * width, row % g.outRows(),
        [&](const T *from, int64_t) __attribute__((always_inline)) {
          const T *const whole = readWhole(from, width, s.whole);
#pragma omp simd simdlen(16)
          for (int64_t j = 0; j < wholeVectors(width); ++j)
            inside[j] += load(whole[j]);
        });
    for (int64_t i = 0; i < segments.count; ++i) {
      const int64_t from = i * segments.stride, to = i * segments.length;
#pragma omp simd
      for (int64_t j = 0; j < segments.length; ++j)
        sum[to + j] = column[from + j];
      for (int64_t kw = 1; kw < w.kernel; ++kw)
#pragma omp simd
        for (int64_t j = 0; j < segments.length; ++j)
          sum[to + j] += column[from + kw * w.dilation * g.lanes + j];
    }
    gatherOutputs(g, segments, sum);
    T *__restrict out = writeWhole(y + row * outputs, outputs, s.written);
    const C rows = static_cast<C>(countedRows(g, row % g.outRows()));
    const C *__restrict divisors = s.divisors;
#pragma omp simd simdlen(16)
    for (int64_t j = 0; j < wholeVectors(outputs); ++j) {
      const C count = rows * divisors[j];
      store(out[j], count > 0 ? sum[j] / count : 0);
    }
    finishWhole(out, outputs, y + row * outputs);
  }
}

// Stores a row of sums over padded columns as a row of dx.
template <class T>
DLC_INLINE void storeRow(const PoolGeometry &g, const Scratch<T> &s, T *dx) {
  const int64_t width = g.in[2] * g.lanes;
  const Compute<T> *__restrict from = s.a + g.columns().low * g.lanes;
  T *__restrict to = writeWhole(dx, width, s.written);
#pragma omp simd simdlen(16)
  for (int64_t j = 0; j < wholeVectors(width); ++j)
    store(to[j], from[j]);
  finishWhole(to, width, dx);
}

template <class T>
DLC_INLINE void maxBackwardRows(const PoolGeometry &g, const T *dy,
                                const uint8_t *index, T *dx, void *memory,
                                int64_t begin, int64_t end) {
  using C = Compute<T>;
  const Scratch<T> s(g, memory);
  const Sliding &w = g.columns();
  const Segments segments(g);
  const int64_t padded = g.paddedColumns() * g.lanes,
                outputs = g.out[2] * g.lanes;
  C *__restrict sums = s.a, *__restrict part = s.b, *__restrict values = s.row;
  int32_t *__restrict taps = s.atA, *__restrict at = s.atB;
#pragma omp simd
  for (int64_t j = 0; j < segments.count * segments.length; ++j)
    part[j] = 0, at[j] = kNone;
  int64_t spreadRow = -1; // row of dy in `part`
  for (int64_t row = begin; row < end; ++row) {
#pragma omp simd
    for (int64_t j = 0; j < wholeVectors(padded); ++j)
      sums[j] = 0;
    forEachReader(
        g, row % g.inRows(),
        [&](int64_t reader, int64_t kh) __attribute__((always_inline)) {
          const int64_t from = row / g.inRows() * g.outRows() + reader;
          if (from != spreadRow) {
            const T *__restrict value =
                readWhole(dy + from * outputs, outputs, s.whole);
            const uint8_t *__restrict tap =
                readWhole(index + from * outputs, outputs, s.index);
#pragma omp simd simdlen(16)
            for (int64_t j = 0; j < wholeVectors(outputs); ++j)
              values[j] = load(value[j]), taps[j] = tap[j];
            spreadOutputs(g, segments, values, part);
            spreadOutputs(g, segments, taps, at);
            spreadRow = from;
          }
          for (int64_t kw = w.kernel - 1; kw >= 0; --kw) {
            const int32_t tap = static_cast<int32_t>(kh * w.kernel + kw);
            for (int64_t i = 0; i < segments.count; ++i) {
              C *__restrict to =
                  sums + i * segments.stride + kw * w.dilation * g.lanes;
              const int64_t base = i * segments.length;
#pragma omp simd
              for (int64_t j = 0; j < segments.length; ++j)
                to[j] += at[base + j] == tap ? part[base + j] : 0;
            }
          }
        });
    storeRow<T>(g, s, dx + row * g.in[2] * g.lanes);
  }
}

template <class T>
DLC_INLINE void avgBackwardRows(const PoolGeometry &g, const T *dy, T *dx,
                                void *memory, int64_t begin, int64_t end) {
  using C = Compute<T>;
  const Scratch<T> s(g, memory);
  const Sliding &w = g.columns();
  const Segments segments(g);
  const int64_t padded = g.paddedColumns() * g.lanes,
                outputs = g.out[2] * g.lanes;
  C *__restrict sums = s.a, *__restrict part = s.b, *__restrict values = s.row;
  countColumns<T>(g, s.divisors);
#pragma omp simd
  for (int64_t j = 0; j < segments.count * segments.length; ++j)
    part[j] = 0;
  int64_t spreadRow = -1;
  for (int64_t row = begin; row < end; ++row) {
#pragma omp simd
    for (int64_t j = 0; j < wholeVectors(padded); ++j)
      sums[j] = 0;
    forEachReader(
        g, row % g.inRows(),
        [&](int64_t reader, int64_t) __attribute__((always_inline)) {
          const int64_t from = row / g.inRows() * g.outRows() + reader;
          if (from != spreadRow) {
            const T *__restrict value =
                readWhole(dy + from * outputs, outputs, s.whole);
            const C rows = static_cast<C>(countedRows(g, reader));
            const C *__restrict divisors = s.divisors;
#pragma omp simd simdlen(16)
            for (int64_t j = 0; j < wholeVectors(outputs); ++j) {
              const C count = rows * divisors[j];
              values[j] = count > 0 ? load(value[j]) / count : 0;
            }
            spreadOutputs(g, segments, values, part);
            spreadRow = from;
          }
          for (int64_t kw = w.kernel - 1; kw >= 0; --kw)
            for (int64_t i = 0; i < segments.count; ++i) {
              C *__restrict to =
                  sums + i * segments.stride + kw * w.dilation * g.lanes;
              const int64_t base = i * segments.length;
#pragma omp simd
              for (int64_t j = 0; j < segments.length; ++j)
                to[j] += part[base + j];
            }
        });
    storeRow<T>(g, s, dx + row * g.in[2] * g.lanes);
  }
}

} // namespace

#define DLC_POOL_LOOPS(T)                                                      \
  DLC_MULTIVERSION void maxPoolRows(const PoolGeometry &g, const T *x, T *y,   \
                                    uint8_t *index, void *scratch,             \
                                    int64_t begin, int64_t end) {              \
    maxRows<T>(g, x, y, index, scratch, begin, end);                           \
  }                                                                            \
  DLC_MULTIVERSION void avgPoolRows(const PoolGeometry &g, const T *x, T *y,   \
                                    void *scratch, int64_t begin,              \
                                    int64_t end) {                             \
    avgRows<T>(g, x, y, scratch, begin, end);                                  \
  }                                                                            \
  DLC_MULTIVERSION void maxPoolBackwardRows(                                   \
      const PoolGeometry &g, const T *dy, const uint8_t *index, T *dx,         \
      void *scratch, int64_t begin, int64_t end) {                             \
    maxBackwardRows<T>(g, dy, index, dx, scratch, begin, end);                 \
  }                                                                            \
  DLC_MULTIVERSION void avgPoolBackwardRows(const PoolGeometry &g,             \
                                            const T *dy, T *dx, void *scratch, \
                                            int64_t begin, int64_t end) {      \
    avgBackwardRows<T>(g, dy, dx, scratch, begin, end);                        \
  }
DLC_POOL_LOOPS(float)
DLC_POOL_LOOPS(Bf16)
DLC_POOL_LOOPS(F16)
DLC_POOL_LOOPS(double)

} // namespace dlc
