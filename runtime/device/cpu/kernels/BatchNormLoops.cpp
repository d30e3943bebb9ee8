// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/kernels/BatchNormLoops.h"

namespace dlc {
namespace {

// Adds rows of a chunk to s1 and s2, lane by lane; value(row offset, lane, v1,
// v2) gives what to add.
template <class T, class Value>
DLC_INLINE void sumLanes(const NormGeometry &g, int64_t first, int64_t last,
                         Compute<T> *s1, Compute<T> *s2, Value &&value) {
  using C = Compute<T>;
#pragma omp simd
  for (int64_t l = 0; l < g.lanes; ++l)
    s1[l] = s2[l] = 0;
  int64_t row = first;
  for (; row + 4 <= last; row += 4) {
    const int64_t r0 = row * g.lanes, r1 = r0 + g.lanes, r2 = r1 + g.lanes,
                  r3 = r2 + g.lanes;
#pragma omp simd
    for (int64_t l = 0; l < g.lanes; ++l) {
      C a0, a1, a2, a3, b0, b1, b2, b3;
      value(r0 + l, l, a0, b0), value(r1 + l, l, a1, b1),
          value(r2 + l, l, a2, b2), value(r3 + l, l, a3, b3);
      s1[l] += (a0 + a1) + (a2 + a3);
      s2[l] += (b0 + b1) + (b2 + b3);
    }
  }
  for (; row < last; ++row) {
#pragma omp simd
    for (int64_t l = 0; l < g.lanes; ++l) {
      C a, b;
      value(row * g.lanes + l, l, a, b);
      s1[l] += a, s2[l] += b;
    }
  }
}

// The same where a lane is contiguous.
template <class T, class Value>
DLC_INLINE void sumInner(const NormGeometry &g, int64_t first, int64_t last,
                         Compute<T> *s1, Compute<T> *s2, Value &&value) {
  for (int64_t l = 0; l < g.lanes; ++l) {
    Compute<T> t1 = 0, t2 = 0;
    for (int64_t row = first; row < last; ++row) {
      const int64_t at = (row * g.lanes + l) * g.inner;
#pragma omp simd reduction(+ : t1, t2)
      for (int64_t i = 0; i < g.inner; ++i) {
        Compute<T> a, b;
        value(at + i, l, a, b);
        t1 += a, t2 += b;
      }
    }
    s1[l] = t1, s2[l] = t2;
  }
}

template <class T, class Value>
DLC_INLINE void sumChunks(const NormGeometry &g, Compute<T> *sums,
                          int64_t begin, int64_t end, Value &&value) {
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    const int64_t first = chunk * g.chunkRows,
                  last = first + g.chunkRows < g.rows ? first + g.chunkRows
                                                      : g.rows;
    Compute<T> *s1 = sums + chunk * 2 * g.lanes, *s2 = s1 + g.lanes;
    if (g.inner == 1)
      sumLanes<T>(g, first, last, s1, s2, value);
    else
      sumInner<T>(g, first, last, s1, s2, value);
  }
}

template <class T>
DLC_INLINE void forwardSums(const NormGeometry &g, const T *__restrict x,
                            Compute<T> *__restrict sums, int64_t begin,
                            int64_t end) {
  sumChunks<T>(
      g, sums, begin, end,
      [ =, &g ](int64_t at, int64_t lane, Compute<T> & a, Compute<T> & b)
          __attribute__((always_inline)) {
            a = load(x[at]) - load(x[lane * g.inner]);
            b = a * a;
          });
}

template <class T>
DLC_INLINE void
backwardSums(const NormGeometry &g, const T *__restrict dy,
             const T *__restrict x, const Compute<T> *__restrict mean,
             Compute<T> *__restrict sums, int64_t begin, int64_t end) {
  sumChunks<T>(
      g, sums, begin, end,
      [=](int64_t at, int64_t lane, Compute<T> & a, Compute<T> & b)
          __attribute__((always_inline)) {
            a = load(dy[at]);
            b = a * (load(x[at]) - mean[lane]);
          });
}

template <class T, class Value>
DLC_INLINE void applyRows(const NormGeometry &g, T *__restrict to,
                          int64_t begin, int64_t end, Value &&value) {
  for (int64_t row = begin; row < end; ++row) {
    if (g.inner == 1) {
#pragma omp simd
      for (int64_t l = 0; l < g.lanes; ++l)
        store(to[row * g.lanes + l], value(row * g.lanes + l, l));
      continue;
    }
    for (int64_t l = 0; l < g.lanes; ++l) {
      const int64_t at = (row * g.lanes + l) * g.inner;
#pragma omp simd
      for (int64_t i = 0; i < g.inner; ++i)
        store(to[at + i], value(at + i, l));
    }
  }
}

template <class T>
DLC_INLINE void apply(const NormGeometry &g, const T *__restrict x,
                      const NormFactors<T> &f, T *__restrict y, int64_t begin,
                      int64_t end) {
  const Compute<T> *__restrict mean = f.mean, *__restrict a = f.a,
                               *__restrict b = f.b;
  applyRows<T>(
      g, y, begin,
      end, [=](int64_t at, int64_t l) __attribute__((always_inline)) {
        return (load(x[at]) - mean[l]) * a[l] + b[l];
      });
}

template <class T>
DLC_INLINE void backwardApply(const NormGeometry &g, const T *__restrict dy,
                              const T *__restrict x, const NormFactors<T> &f,
                              T *__restrict dx, int64_t begin, int64_t end) {
  const Compute<T> *__restrict mean = f.mean, *__restrict a = f.a,
                               *__restrict b = f.b, *__restrict c = f.c;
  applyRows<T>(
      g, dx, begin,
      end, [=](int64_t at, int64_t l) __attribute__((always_inline)) {
        return a[l] * load(dy[at]) + (load(x[at]) - mean[l]) * b[l] + c[l];
      });
}

} // namespace

#define DLC_NORM_LOOPS(T)                                                      \
  DLC_MULTIVERSION void normSums(const NormGeometry &g, const T *x,            \
                                 Compute<T> *sums, int64_t begin,              \
                                 int64_t end) {                                \
    forwardSums<T>(g, x, sums, begin, end);                                    \
  }                                                                            \
  DLC_MULTIVERSION void normBackwardSums(                                      \
      const NormGeometry &g, const T *dy, const T *x, const Compute<T> *mean,  \
      Compute<T> *sums, int64_t begin, int64_t end) {                          \
    backwardSums<T>(g, dy, x, mean, sums, begin, end);                         \
  }                                                                            \
  DLC_MULTIVERSION void normApply(const NormGeometry &g, const T *x,           \
                                  const NormFactors<T> &f, T *y,               \
                                  int64_t begin, int64_t end) {                \
    apply<T>(g, x, f, y, begin, end);                                          \
  }                                                                            \
  DLC_MULTIVERSION void normBackwardApply(const NormGeometry &g, const T *dy,  \
                                          const T *x, const NormFactors<T> &f, \
                                          T *dx, int64_t begin, int64_t end) { \
    backwardApply<T>(g, dy, x, f, dx, begin, end);                             \
  }
DLC_NORM_LOOPS(float)
DLC_NORM_LOOPS(Bf16)
DLC_NORM_LOOPS(F16)
DLC_NORM_LOOPS(double)

} // namespace dlc
