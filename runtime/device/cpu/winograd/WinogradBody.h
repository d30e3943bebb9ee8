// SPDX-License-Identifier: Apache-2.0
// The loops of WinogradLoops.h. WinogradLoops.cpp includes this for each kind
// of CPU, in a namespace that defines kLanes, the floats of a vector, and
// kRows. Includes nothing, so that everything here is compiled for that CPU.

typedef float Vec __attribute__((vector_size(4 * kLanes)));
typedef float Unaligned
    __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));

constexpr int64_t kParts = kWinogradLanes / kLanes; // vectors per block

inline Vec load(const float *from) {
  return *reinterpret_cast<const Unaligned *>(from);
}
inline void store(float *to, Vec v) { *reinterpret_cast<Unaligned *>(to) = v; }
// Conversions of 16-bit elements, as in Half.h, for whole vectors.
typedef uint32_t Bits __attribute__((vector_size(4 * kLanes)));
typedef uint16_t Halves __attribute__((vector_size(2 * kLanes)));

inline Bits bitsOf(const void *from) {
  Halves halves;
  __builtin_memcpy(&halves, from, sizeof halves);
  return __builtin_convertvector(halves, Bits);
}
inline void storeBits(void *to, Bits bits) {
  const Halves halves = __builtin_convertvector(bits, Halves);
  __builtin_memcpy(to, &halves, sizeof halves);
}
inline Vec load(const Bf16 *from) { return Vec(bitsOf(from) << 16); }
inline void store(Bf16 *to, Vec v) {
  const Bits bits = Bits(v), rounded = bits + 0x7fff + (bits >> 16 & 1);
  storeBits(to, (v != v ? bits | 0x400000 : rounded) >> 16);
}
inline Vec load(const F16 *from) {
  const Bits bits = bitsOf(from), shifted = (bits & 0x7fff) << 13;
  const Bits finite = Bits(Vec(shifted) * 0x1p112f);
  return Vec((shifted >= 0x0f800000 ? shifted | 0x7f800000 : finite) |
             (bits & 0x8000) << 16);
}
inline void store(F16 *to, Vec v) {
  F16 halves[kLanes];
  for (int l = 0; l < kLanes; ++l)
    halves[l] = roundToF16(v[l]);
  __builtin_memcpy(to, halves, sizeof halves);
}

// Calls fn(i) for i below N, unrolled.
template <int N, class F>
inline __attribute__((always_inline)) void repeat(F &&fn) {
#pragma GCC unroll 16
  for (int i = 0; i < N; ++i)
    fn(i);
}

using Transform = void(const Vec *, Vec *);

// Products of vectors with the three matrices. The n points are 0, some +-p,
// and infinity.
template <int M> struct Matrices;

template <> struct Matrices<2> {             // 0, +-1
  static void inputs(const Vec *x, Vec *v) { // B'
    v[0] = x[0] - x[2], v[1] = x[1] + x[2];
    v[2] = x[2] - x[1], v[3] = x[3] - x[1];
  }
  static void outputs(const Vec *v, Vec *y) { // A'
    y[0] = v[0] + (v[1] + v[2]), y[1] = (v[1] - v[2]) + v[3];
  }
  static void gradients(const Vec *y, Vec *v) { // A
    v[0] = y[0], v[1] = y[0] + y[1], v[2] = y[0] - y[1], v[3] = y[1];
  }
  static void filters(const Vec *w, Vec *v) { // G
    const Vec even = 0.5f * (w[0] + w[2]), odd = 0.5f * w[1];
    v[0] = w[0], v[1] = even + odd, v[2] = even - odd, v[3] = w[2];
  }
  static void filterGradients(const Vec *v, Vec *w) { // G'
    const Vec even = 0.5f * (v[1] + v[2]);
    w[0] = v[0] + even, w[1] = 0.5f * (v[1] - v[2]), w[2] = even + v[3];
  }
};

// Points 0, +-p, +-q. Points near 1 whose ratio is not near 1 lose the fewest
// digits: the RMS error is half of that with 1 and 2.
template <> struct Matrices<4> {
  static constexpr float p = 0.625f, q = 1.5f, pp = p * p, qq = q * q;
  static constexpr float g0 = 1 / (pp * qq), gp = 1 / (2 * pp * (pp - qq)),
                         gq = 1 / (2 * qq * (qq - pp));

  static void inputs(const Vec *x, Vec *v) {
    const Vec evenP = x[4] - qq * x[2], oddP = p * (x[3] - qq * x[1]),
              evenQ = x[4] - pp * x[2], oddQ = q * (x[3] - pp * x[1]);
    v[0] = pp * qq * x[0] + (x[4] - (pp + qq) * x[2]);
    v[1] = evenP + oddP, v[2] = evenP - oddP;
    v[3] = evenQ + oddQ, v[4] = evenQ - oddQ;
    v[5] = pp * qq * x[1] + (x[5] - (pp + qq) * x[3]);
  }
  static void outputs(const Vec *v, Vec *y) {
    const Vec evenP = v[1] + v[2], oddP = p * (v[1] - v[2]),
              evenQ = v[3] + v[4], oddQ = q * (v[3] - v[4]);
    y[0] = v[0] + (evenP + evenQ), y[1] = oddP + oddQ;
    y[2] = pp * evenP + qq * evenQ, y[3] = (pp * oddP + qq * oddQ) + v[5];
  }
  static void gradients(const Vec *y, Vec *v) {
    const Vec evenP = y[0] + pp * y[2], oddP = p * (y[1] + pp * y[3]),
              evenQ = y[0] + qq * y[2], oddQ = q * (y[1] + qq * y[3]);
    v[0] = y[0], v[1] = evenP + oddP, v[2] = evenP - oddP;
    v[3] = evenQ + oddQ, v[4] = evenQ - oddQ, v[5] = y[3];
  }
  static void filters(const Vec *w, Vec *v) {
    const Vec evenP = gp * w[0] + gp * pp * w[2], oddP = gp * p * w[1],
              evenQ = gq * w[0] + gq * qq * w[2], oddQ = gq * q * w[1];
    v[0] = g0 * w[0], v[1] = evenP + oddP, v[2] = evenP - oddP;
    v[3] = evenQ + oddQ, v[4] = evenQ - oddQ, v[5] = w[2];
  }
  static void filterGradients(const Vec *v, Vec *w) {
    const Vec evenP = gp * (v[1] + v[2]), oddP = gp * p * (v[1] - v[2]),
              evenQ = gq * (v[3] + v[4]), oddQ = gq * q * (v[3] - v[4]);
    w[0] = g0 * v[0] + (evenP + evenQ), w[1] = oddP + oddQ;
    w[2] = (pp * evenP + qq * evenQ) + v[5];
  }
};

// Applies `T` to each column of an array of From x From vectors, then to each
// row, which gives To x To.
template <Transform *T, int From, int To, class Load, class Store>
inline __attribute__((always_inline)) void twice(Load &&load, Store &&store) {
  Vec half[To][From];
  repeat<From>([&](int j) {
    Vec from[From], to[To];
    repeat<From>([&](int i) { from[i] = load(i, j); });
    T(from, to);
    repeat<To>([&](int i) { half[i][j] = to[i]; });
  });
  repeat<To>([&](int i) {
    Vec to[To];
    T(half[i], to);
    repeat<To>([&](int j) { store(i, j, to[j]); });
  });
}

// Calls fn(element of the tile's first pixel, that pixel's row and column) for
// tiles [begin, end) of an image whose first tile begins `top` rows and `left`
// columns before it.
template <class F>
inline void forTiles(const WinogradConv &c, const WinogradImage &image,
                     int64_t top, int64_t left, int64_t begin, int64_t end,
                     F &&fn) {
  for (int64_t t = begin; t < end; ++t) {
    const int64_t row = t / c.columns(), y = row % c.rows() * c.tile - top,
                  x = t % c.columns() * c.tile - left;
    fn(t,
       ((row / c.rows() * image.height + y) * image.width + x) * image.channels,
       y, x);
  }
}

// Transforms Size x Size pixels of an image's tiles, with zeros outside of the
// image, to N x N planes.
template <Transform *T, int Size, int N, class E>
inline void toPlanes(const WinogradConv &c, const WinogradImage &image,
                     int64_t top, int64_t left, const E *from, int64_t begin,
                     int64_t end, const WinogradPlanes &to) {
  const int64_t pixel = image.channels, line = pixel * image.width;
  forTiles(
      c, image, top, left, begin, end,
      [&](int64_t t, int64_t first, int64_t y, int64_t x) {
        const bool isInside = y >= 0 && x >= 0 && y + Size <= image.height &&
                              x + Size <= image.width;
        const auto transform = [&](const auto *corner, int64_t line,
                                   int64_t pixel, float *put) {
          twice<T, Size, N>(
              [&](int i, int j) { return load(corner + i * line + j * pixel); },
              [&](int i, int j, Vec v) {
                store(put + (i * N + j) * to.stride, v);
              });
        };
        for (int64_t channel = 0; channel < pixel; channel += kLanes) {
          const E *const corner = from + first + channel;
          float *const put = to.at(0, channel / kWinogradLanes, t - begin) +
                             channel % kWinogradLanes;
          if (isInside) {
            transform(corner, line, pixel, put);
            continue;
          }
          float padded[Size][Size][kLanes];
          for (int i = 0; i < Size; ++i)
            for (int j = 0; j < Size; ++j)
              store(padded[i][j], y + i < 0 || y + i >= image.height ||
                                          x + j < 0 || x + j >= image.width
                                      ? Vec{}
                                      : load(corner + i * line + j * pixel));
          transform(padded[0][0], Size * kLanes, kLanes, put);
        }
      });
}

template <int M, class E>
void inputs(const WinogradConv &c, const void *x, int64_t begin, int64_t end,
            const WinogradPlanes &to) {
  toPlanes<Matrices<M>::inputs, M + 2, M + 2>(
      c, c.in, c.top, c.left, static_cast<const E *>(x), begin, end, to);
}
template <int M, class E>
void gradients(const WinogradConv &c, const void *dy, int64_t begin,
               int64_t end, const WinogradPlanes &to) {
  toPlanes<Matrices<M>::gradients, M, M + 2>(
      c, c.out, 0, 0, static_cast<const E *>(dy), begin, end, to);
}

template <int M, class E>
void outputs(const WinogradConv &c, const WinogradPlanes &from, int64_t begin,
             int64_t end, int64_t block, const void *bias, void *y) {
  constexpr int N = M + 2;
  const int64_t pixel = c.out.channels, line = pixel * c.out.width;
  forTiles(c, c.out, 0, 0, begin, end,
           [&](int64_t t, int64_t first, int64_t row, int64_t column) {
             for (int64_t lane = 0; lane < kWinogradLanes; lane += kLanes) {
               const int64_t channel = block * kWinogradLanes + lane;
               const float *const get = from.at(0, 0, t - begin) + lane;
               const Vec shift =
                   bias ? load(static_cast<const E *>(bias) + channel) : Vec{};
               twice<Matrices<M>::outputs, N, M>(
                   [&](int i, int j) {
                     return load(get + (i * N + j) * from.stride);
                   },
                   [&](int i, int j, Vec v) {
                     if (row + i < c.out.height && column + j < c.out.width)
                       store(static_cast<E *>(y) + first + channel + i * line +
                                 j * pixel,
                             v + shift);
                   });
             }
           });
}

template <int M, class E>
void filters(const WinogradConv &c, const void *w, int64_t block, int64_t begin,
             int64_t end, const WinogradPlanes &to) {
  constexpr int N = M + 2;
  float taps[9][kWinogradLanes];
  for (int64_t i = begin; i < end; ++i) {
    const E *from = static_cast<const E *>(w) + c.first +
                    block * kWinogradLanes * c.outer + i * c.inner;
    for (int64_t lane = 0; lane < kWinogradLanes; ++lane)
      repeat<9>([&](int tap) {
        taps[tap][lane] = dlc::load(from[lane * c.outer + tap * c.tap]);
      });
    for (int64_t lane = 0; lane < kWinogradLanes; lane += kLanes) {
      float *const put = to.at(0, 0, i - begin) + lane;
      twice<Matrices<M>::filters, 3, N>(
          [&](int y, int x) { return load(&taps[3 * y + x][lane]); },
          [&](int y, int x, Vec v) {
            store(put + (y * N + x) * to.stride, v);
          });
    }
  }
}

inline Vec sumAt(const WinogradSums &from, const float *first) {
  Vec sum = load(first);
  for (int64_t i = 1; i < from.count; ++i)
    sum += load(first + i * from.distance);
  return sum;
}

template <int M, class E>
void filterGradients(const WinogradConv &c, const WinogradSums &from,
                     int64_t at, int64_t inputs, int64_t outputs, void *dw) {
  constexpr int N = M + 2;
  float taps[9][kWinogradLanes];
  for (int64_t i = 0; i < kWinogradLanes; ++i) {
    for (int64_t lane = 0; lane < kWinogradLanes; lane += kLanes) {
      const float *const get = from.first.at(0, at, i) + lane;
      twice<Matrices<M>::filterGradients, N, 3>(
          [&](int y, int x) {
            return sumAt(from, get + (y * N + x) * from.first.stride);
          },
          [&](int y, int x, Vec v) { store(&taps[3 * y + x][lane], v); });
    }
    E *to = static_cast<E *>(dw) + c.first +
            outputs * kWinogradLanes * c.outer +
            (inputs * kWinogradLanes + i) * c.inner;
    for (int64_t lane = 0; lane < kWinogradLanes; ++lane)
      repeat<9>([&](int tap) {
        dlc::store(to[lane * c.outer + tap * c.tap], taps[tap][lane]);
      });
  }
}

// For m = 1, f32 only: copies the pixels under each tap, with zeros outside of
// the image.
inline void copyPixel(const float *from, int64_t channels,
                      const WinogradPlanes &to, int64_t plane, int64_t row) {
  for (int64_t at = 0; at < channels; at += kWinogradLanes)
    repeat<kParts>([&](int v) {
      store(to.at(plane, at / kWinogradLanes, row) + v * kLanes,
            from ? load(from + at + v * kLanes) : Vec{});
    });
}
template <>
void inputs<1, float>(const WinogradConv &c, const void *x, int64_t begin,
                      int64_t end, const WinogradPlanes &to) {
  for (int64_t t = begin; t < end; ++t) {
    const int64_t line = t / c.out.width,
                  top = line % c.out.height * c.down.stride - c.top,
                  left = t % c.out.width * c.across.stride - c.left;
    const float *const image =
        static_cast<const float *>(x) +
        line / c.out.height * c.in.height * c.in.width * c.in.channels;
    for (int64_t plane = 0; plane < c.planes(); ++plane) {
      const int64_t row = top + plane / c.across.kernel * c.down.dilation,
                    column = left + plane % c.across.kernel * c.across.dilation;
      const bool isInside =
          row >= 0 && column >= 0 && row < c.in.height && column < c.in.width;
      copyPixel(isInside ? image + (row * c.in.width + column) * c.in.channels
                         : nullptr,
                c.in.channels, to, plane, t - begin);
    }
  }
}
template <>
void gradients<1, float>(const WinogradConv &c, const void *dy, int64_t begin,
                         int64_t end, const WinogradPlanes &to) {
  for (int64_t t = begin; t < end; ++t)
    copyPixel(static_cast<const float *>(dy) + t * c.out.channels,
              c.out.channels, to, 0, t - begin);
}
template <>
void filterGradients<1, float>(const WinogradConv &c, const WinogradSums &from,
                               int64_t at, int64_t inputs, int64_t outputs,
                               void *dw) {
  float *const to = static_cast<float *>(dw) + c.first +
                    outputs * kWinogradLanes * c.outer +
                    inputs * kWinogradLanes * c.inner;
  for (int64_t lane = 0; lane < kWinogradLanes; ++lane)
    for (int64_t i = 0; i < kWinogradLanes; ++i)
      for (int64_t plane = 0; plane < c.planes(); ++plane)
        to[lane * c.outer + i * c.inner + plane * c.tap] =
            from.first.at(plane, at, i)[lane];
}

// Computes `Rows` rows of `Columns` columns of a product, with all sums in
// registers. An element of `a` is loaded once for all columns: with one vector
// per row, a load per multiplication would keep half of the units waiting.
template <int Rows, int Columns>
void rowsOf(const WinogradProduct &p, const float *a, float *c) {
  constexpr int kVectors = Columns * kParts;
  const auto offset = [](int v, int64_t column) {
    return v / kParts * column + v % kParts * kLanes;
  };
  Vec sums[Rows][kVectors] = {};
  const float *b = p.b;
  for (int64_t block = 0; block < p.blocks; ++block, a += p.aBlock) {
    const float *of = a;
    for (int64_t k = 0; k < p.depth; ++k, of += p.aDepth, b += kWinogradLanes) {
      Vec right[kVectors];
      repeat<kVectors>(
          [&](int v) { right[v] = load(b + offset(v, p.bColumn)); });
      repeat<Rows>([&](int r) {
        const float left = of[r * p.aRow];
        repeat<kVectors>([&](int v) { sums[r][v] += left * right[v]; });
      });
    }
  }
  repeat<Rows>([&](int r) {
    repeat<kVectors>([&](int v) {
      float *const to = c + r * kWinogradLanes + offset(v, p.cColumn);
      store(to, p.adds ? load(to) + sums[r][v] : sums[r][v]);
    });
  });
}

template <int Rows, int Columns>
void rowsOf(int64_t rows, const WinogradProduct &p, const float *a, float *c) {
  if constexpr (Rows > 1)
    if (rows < Rows)
      return rowsOf<Rows - 1, Columns>(rows, p, a, c);
  rowsOf<Rows, Columns>(p, a, c);
}

// Splits rows into groups of nearly equal size.
void product(const WinogradProduct &p) {
  const int64_t groups = (p.rows + kRows - 1) / kRows;
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t begin = p.rows * g / groups, end = p.rows * (g + 1) / groups;
    const float *const a = p.a + begin * p.aRow;
    float *const c = p.c + begin * kWinogradLanes;
    p.columns == kColumns ? rowsOf<kRows, kColumns>(end - begin, p, a, c)
                          : rowsOf<kRows, 1>(end - begin, p, a, c);
  }
}

template <int M, class E>
constexpr WinogradLoops kLoops = {
    kRows,           kColumns,      kLanes,        inputs<M, E>,
    gradients<M, E>, outputs<M, E>, filters<M, E>, filterGradients<M, E>,
    product};

template <>
constexpr WinogradLoops kLoops<1, float> = {kRows,
                                            kColumns,
                                            kLanes,
                                            inputs<1, float>,
                                            gradients<1, float>,
                                            nullptr,
                                            nullptr,
                                            filterGradients<1, float>,
                                            product};
