// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/kernels/BatchNormLoops.h"

namespace dlc {
namespace {

// Adds the rows of a chunk to s1 and s2, lane by lane; value(row offset, lane,
// v1, v2) computes the terms.
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

// The same for contiguous lanes.
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

// dy at a lane, or 0 where a ReLU after the norm was off; NaN is preserved.
template <class T>
DLC_INLINE Compute<T> masked(const T *dy, int64_t at, int64_t lane,
                             Compute<T> centred, const Compute<T> *a,
                             const Compute<T> *bias) {
  const Compute<T> value = load(dy[at]);
  if (!bias)
    return value;
  return centred * a[lane] + bias[lane] <= 0 ? 0 : value;
}

// `bias` is f.bias or a literal null, so that each has its own loop.
template <class T>
DLC_INLINE void backwardSums(const NormGeometry &g, const T *__restrict dy,
                             const T *__restrict x, const NormFactors<T> &f,
                             const Compute<T> *__restrict bias,
                             Compute<T> *__restrict sums, int64_t begin,
                             int64_t end) {
  const Compute<T> *__restrict mean = f.mean, *__restrict scale = f.a;
  sumChunks<T>(
      g, sums, begin, end,
      [=](int64_t at, int64_t lane, Compute<T> & a, Compute<T> & b)
          __attribute__((always_inline)) {
            const Compute<T> centred = load(x[at]) - mean[lane];
            a = masked(dy, at, lane, centred, scale, bias);
            b = a * centred;
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

template <class T, bool kResidual, bool kRelu>
DLC_INLINE void apply(const NormGeometry &g, const T *__restrict x,
                      const NormFactors<T> &f, const T *__restrict residual,
                      T *__restrict y, int64_t begin, int64_t end) {
  const Compute<T> *__restrict mean = f.mean, *__restrict a = f.a,
                               *__restrict b = f.b;
  applyRows<T>(
      g, y, begin,
      end, [=](int64_t at, int64_t l) __attribute__((always_inline)) {
        Compute<T> value = (load(x[at]) - mean[l]) * a[l] + b[l];
        if constexpr (kResidual)
          value += load(residual[at]);
        return kRelu && value <= 0 ? 0 : value;
      });
}

template <class T>
DLC_INLINE void backwardApply(const NormGeometry &g, const T *__restrict dy,
                              const T *__restrict x, const NormFactors<T> &f,
                              const Compute<T> *__restrict bias,
                              T *__restrict dx, int64_t begin, int64_t end) {
  const Compute<T> *__restrict mean = f.mean, *__restrict a = f.a,
                               *__restrict b = f.b, *__restrict c = f.c;
  applyRows<T>(
      g, dx, begin,
      end, [=](int64_t at, int64_t l) __attribute__((always_inline)) {
        const Compute<T> centred = load(x[at]) - mean[l];
        return a[l] * masked(dy, at, l, centred, a, bias) + centred * b[l] +
               c[l];
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
      const NormGeometry &g, const T *dy, const T *x, const NormFactors<T> &f, \
      Compute<T> *sums, int64_t begin, int64_t end) {                          \
    if (f.bias)                                                                \
      backwardSums<T>(g, dy, x, f, f.bias, sums, begin, end);                  \
    else                                                                       \
      backwardSums<T>(g, dy, x, f, nullptr, sums, begin, end);                 \
  }                                                                            \
  DLC_MULTIVERSION void normApply(                                             \
      const NormGeometry &g, const T *x, const NormFactors<T> &f,              \
      const NormTail<T> &tail, T *y, int64_t begin, int64_t end) {             \
    const T *r = tail.residual;                                                \
    if (r && tail.relu)                                                        \
      apply<T, true, true>(g, x, f, r, y, begin, end);                         \
    else if (r)                                                                \
      apply<T, true, false>(g, x, f, r, y, begin, end);                        \
    else if (tail.relu)                                                        \
      apply<T, false, true>(g, x, f, r, y, begin, end);                        \
    else                                                                       \
      apply<T, false, false>(g, x, f, r, y, begin, end);                       \
  }                                                                            \
  DLC_MULTIVERSION void normBackwardApply(const NormGeometry &g, const T *dy,  \
                                          const T *x, const NormFactors<T> &f, \
                                          T *dx, int64_t begin, int64_t end) { \
    if (f.bias)                                                                \
      backwardApply<T>(g, dy, x, f, f.bias, dx, begin, end);                   \
    else                                                                       \
      backwardApply<T>(g, dy, x, f, nullptr, dx, begin, end);                  \
  }
DLC_NORM_LOOPS(float)
DLC_NORM_LOOPS(Bf16)
DLC_NORM_LOOPS(F16)
DLC_NORM_LOOPS(double)

} // namespace dlc
