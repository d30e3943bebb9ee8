#include "runtime/device/cpu/kernels/PoolLoops.h"

namespace dlc {
namespace {

constexpr int64_t kBlock = 64; // lanes worked on at once

// Outputs [lo, hi) of a row for which tap k reads inside [0, size).
struct Range {
  int64_t lo, hi;
};
DLC_INLINE Range inside(int64_t outputs, int64_t stride, int64_t pad,
                        int64_t offset, int64_t size) {
  const int64_t first = pad - offset, last = size - 1 + pad - offset;
  const int64_t lo = first <= 0 ? 0 : (first + stride - 1) / stride;
  const int64_t hi = last < 0 ? 0 : last / stride + 1;
  return {lo < outputs ? lo : outputs, hi < outputs ? hi : outputs};
}

// Taps of one dimension that output o counts in the divisor of avg_pool.
DLC_INLINE int64_t counted(int64_t o, int64_t k, int64_t stride,
                           int64_t dilation, int64_t before, int64_t after,
                           int64_t size, bool countPad) {
  const int64_t least = countPad ? -before : 0,
                most = countPad ? size + after : size;
  int64_t count = 0;
  for (int64_t tap = 0; tap < k; ++tap) {
    const int64_t at = o * stride - before + tap * dilation;
    count += at >= least && at < most;
  }
  return count;
}

template <class T>
DLC_INLINE void takeMax(Compute<T> *best, int32_t *at, const T *x,
                        int64_t stride, int64_t n, int32_t tap) {
  const auto loop = [=](auto step) __attribute__((always_inline)) {
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
      const Compute<T> value = load(x[j * step]);
      const bool take = (value > best[j]) | (value != value) | (at[j] < 0);
      best[j] = take ? value : best[j];
      at[j] = take ? tap : at[j];
    }
  };
  if (stride == 1)
    loop(std::integral_constant<int64_t, 1>());
  else if (stride == 2)
    loop(std::integral_constant<int64_t, 2>());
  else
    loop(stride);
}

template <class T>
DLC_INLINE void addTo(Compute<T> *sum, const T *x, int64_t stride, int64_t n) {
#pragma omp simd
  for (int64_t j = 0; j < n; ++j)
    sum[j] += load(x[j * stride]);
}

// Calls tap(x, first lane, lanes, stride between lanes, tap number) for the
// taps of lanes [0, n) at column `ow`: lanes of one column, or, where a plane
// has one lane, the n columns from `ow` on.
template <class T, class F>
DLC_INLINE void forEachTap(const PoolGeometry &g, const T *plane, int64_t oh,
                           int64_t ow, int64_t lane, int64_t n, F &&tap) {
  const Window &w = g.window;
  for (int64_t kh = 0; kh < w.kh; ++kh) {
    const int64_t ih = w.row(oh, kh);
    if (ih < 0 || ih >= g.ih)
      continue;
    const T *row = plane + ih * g.iw * g.lanes;
    for (int64_t kw = 0; kw < w.kw; ++kw) {
      const int32_t number = static_cast<int32_t>(kh * w.kw + kw);
      if (g.lanes > 1) {
        const int64_t iw = w.column(ow, kw);
        if (iw >= 0 && iw < g.iw)
          tap(row + iw * g.lanes + lane, int64_t(0), n, int64_t(1), number);
        continue;
      }
      Range range = inside(g.ow, w.sw, w.left, kw * w.dw, g.iw);
      range.lo = range.lo > ow ? range.lo : ow;
      range.hi = range.hi < ow + n ? range.hi : ow + n;
      if (range.lo < range.hi)
        tap(row + w.column(range.lo, kw), range.lo - ow, range.hi - range.lo,
            w.sw, number);
    }
  }
}

// Calls block(ow, lane, n, offset in the row) for the blocks of a row of y.
template <class F>
DLC_INLINE void forEachBlock(const PoolGeometry &g, F &&block) {
  const int64_t columns = g.lanes > 1 ? g.ow : 1,
                length = g.lanes > 1 ? g.lanes : g.ow;
  for (int64_t column = 0; column < columns; ++column)
    for (int64_t at = 0; at < length; at += kBlock) {
      const int64_t n = length - at < kBlock ? length - at : kBlock;
      if (g.lanes > 1)
        block(column, at, n, column * g.lanes + at);
      else
        block(at, int64_t(0), n, at);
    }
}

template <class T>
DLC_INLINE void maxRows(const PoolGeometry &g, const T *x, T *y, uint8_t *index,
                        int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    const T *plane = x + row / g.oh * g.ih * g.iw * g.lanes;
    const int64_t start = row * g.ow * g.lanes;
    forEachBlock(
        g, [&](int64_t ow, int64_t lane, int64_t n,
               int64_t offset) __attribute__((always_inline)) {
          Compute<T> best[kBlock];
          int32_t at[kBlock];
          for (int64_t j = 0; j < n; ++j)
            best[j] = -__builtin_inff(), at[j] = -1;
          forEachTap(
              g, plane, row % g.oh, ow, lane, n,
              [&](const T *from, int64_t first, int64_t count, int64_t stride,
                  int32_t tap) __attribute__((always_inline)) {
                takeMax<T>(best + first, at + first, from, stride, count, tap);
              });
          for (int64_t j = 0; j < n; ++j) {
            store(y[start + offset + j], best[j]);
            index[start + offset + j] =
                static_cast<uint8_t>(at[j] < 0 ? 0 : at[j]);
          }
        });
  }
}

template <class T>
DLC_INLINE void avgRows(const PoolGeometry &g, const T *x, T *y, int64_t begin,
                        int64_t end) {
  const Window &w = g.window;
  for (int64_t row = begin; row < end; ++row) {
    const T *plane = x + row / g.oh * g.ih * g.iw * g.lanes;
    const int64_t start = row * g.ow * g.lanes, oh = row % g.oh;
    const int64_t rows =
        counted(oh, w.kh, w.sh, w.dh, w.top, w.bottom, g.ih, g.countPad);
    forEachBlock(
        g, [&](int64_t ow, int64_t lane, int64_t n,
               int64_t offset) __attribute__((always_inline)) {
          Compute<T> sum[kBlock];
          for (int64_t j = 0; j < n; ++j)
            sum[j] = 0;
          forEachTap(
              g, plane, oh, ow, lane, n,
              [&](const T *from, int64_t first, int64_t count, int64_t stride,
                  int32_t) __attribute__((always_inline)) {
                addTo<T>(sum + first, from, stride, count);
              });
          int64_t count = rows * counted(ow, w.kw, w.sw, w.dw, w.left, w.right,
                                         g.iw, g.countPad);
          for (int64_t j = 0; j < n; ++j) {
            if (g.lanes == 1 && j > 0)
              count = rows * counted(ow + j, w.kw, w.sw, w.dw, w.left, w.right,
                                     g.iw, g.countPad);
            store(y[start + offset + j],
                  count ? sum[j] / static_cast<Compute<T>>(count) : 0);
          }
        });
  }
}

// Calls tap(row of y in the plane, kh) for the rows of y that read row `ih`,
// upwards.
template <class F>
DLC_INLINE void forEachReader(const PoolGeometry &g, int64_t ih, F &&tap) {
  const Window &w = g.window;
  for (int64_t kh = w.kh - 1; kh >= 0; --kh) {
    const int64_t at = ih + w.top - kh * w.dh;
    if (at >= 0 && at % w.sh == 0 && at / w.sh < g.oh)
      tap(at / w.sh, kh);
  }
}

template <class T>
DLC_INLINE void storeRow(const PoolGeometry &g, const Compute<T> *sums, T *dx) {
#pragma omp simd
  for (int64_t j = 0; j < g.iw * g.lanes; ++j)
    store(dx[j], sums[j]);
}

template <class T>
DLC_INLINE void maxBackwardRows(const PoolGeometry &g, const T *dy,
                                const uint8_t *index, T *dx, Compute<T> *sums,
                                int64_t begin, int64_t end) {
  const Window &w = g.window;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t plane = row / g.ih, length = g.iw * g.lanes;
    for (int64_t j = 0; j < length; ++j)
      sums[j] = 0;
    forEachReader(
        g,
        row % g.ih, [&](int64_t oh, int64_t kh) __attribute__((always_inline)) {
          const T *from = dy + (plane * g.oh + oh) * g.ow * g.lanes;
          const uint8_t *at = index + (plane * g.oh + oh) * g.ow * g.lanes;
          for (int64_t kw = w.kw - 1; kw >= 0; --kw) {
            const Range range = inside(g.ow, w.sw, w.left, kw * w.dw, g.iw);
            const int32_t tap = static_cast<int32_t>(kh * w.kw + kw);
            if (g.lanes > 1) {
              for (int64_t ow = range.lo; ow < range.hi; ++ow) {
                Compute<T> *to = sums + w.column(ow, kw) * g.lanes;
#pragma omp simd
                for (int64_t c = 0; c < g.lanes; ++c)
                  to[c] += at[ow * g.lanes + c] == tap
                               ? load(from[ow * g.lanes + c])
                               : 0;
              }
              continue;
            }
            Compute<T> *to = sums - w.left + kw * w.dw;
#pragma omp simd
            for (int64_t ow = range.lo; ow < range.hi; ++ow)
              to[ow * w.sw] += at[ow] == tap ? load(from[ow]) : 0;
          }
        });
    storeRow<T>(g, sums, dx + row * length);
  }
}

template <class T>
DLC_INLINE void avgBackwardRows(const PoolGeometry &g, const T *dy, T *dx,
                                Compute<T> *sums, int64_t begin, int64_t end) {
  const Window &w = g.window;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t plane = row / g.ih, length = g.iw * g.lanes;
    for (int64_t j = 0; j < length; ++j)
      sums[j] = 0;
    forEachReader(
        g, row % g.ih, [&](int64_t oh, int64_t) __attribute__((always_inline)) {
          const T *from = dy + (plane * g.oh + oh) * g.ow * g.lanes;
          const int64_t rows =
              counted(oh, w.kh, w.sh, w.dh, w.top, w.bottom, g.ih, g.countPad);
          for (int64_t ow = 0; ow < g.ow; ++ow) {
            const auto count = static_cast<Compute<T>>(
                rows * counted(ow, w.kw, w.sw, w.dw, w.left, w.right, g.iw,
                               g.countPad));
            for (int64_t kw = 0; kw < w.kw; ++kw) {
              const int64_t iw = w.column(ow, kw);
              if (iw < 0 || iw >= g.iw)
                continue;
              Compute<T> *to = sums + iw * g.lanes;
#pragma omp simd
              for (int64_t c = 0; c < g.lanes; ++c)
                to[c] += load(from[ow * g.lanes + c]) / count;
            }
          }
        });
    storeRow<T>(g, sums, dx + row * length);
  }
}

} // namespace

#define DLC_POOL_LOOPS(T)                                                      \
  DLC_MULTIVERSION void maxPoolRows(const PoolGeometry &g, const T *x, T *y,   \
                                    uint8_t *index, int64_t begin,             \
                                    int64_t end) {                             \
    maxRows<T>(g, x, y, index, begin, end);                                    \
  }                                                                            \
  DLC_MULTIVERSION void avgPoolRows(const PoolGeometry &g, const T *x, T *y,   \
                                    int64_t begin, int64_t end) {              \
    avgRows<T>(g, x, y, begin, end);                                           \
  }                                                                            \
  DLC_MULTIVERSION void maxPoolBackwardRows(                                   \
      const PoolGeometry &g, const T *dy, const uint8_t *index, T *dx,         \
      Compute<T> *sums, int64_t begin, int64_t end) {                          \
    maxBackwardRows<T>(g, dy, index, dx, sums, begin, end);                    \
  }                                                                            \
  DLC_MULTIVERSION void avgPoolBackwardRows(                                   \
      const PoolGeometry &g, const T *dy, T *dx, Compute<T> *sums,             \
      int64_t begin, int64_t end) {                                            \
    avgBackwardRows<T>(g, dy, dx, sums, begin, end);                           \
  }
DLC_POOL_LOOPS(float)
DLC_POOL_LOOPS(Bf16)
DLC_POOL_LOOPS(double)

} // namespace dlc
