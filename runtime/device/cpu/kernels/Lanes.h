// SPDX-License-Identifier: Apache-2.0
// Float vectors, and products of small matrices in registers. Bodies of loops
// include this for each kind of CPU, in a namespace that defines kLanes, the
// floats of a vector, and kBlockRows (Levels.h). Includes nothing, so that
// everything here is compiled for that CPU.

using Lanes = float __attribute__((vector_size(4 * kLanes)));
using IntLanes = int32_t __attribute__((vector_size(4 * kLanes)));

DLC_INLINE void read(const float *from, Lanes &to) {
  __builtin_memcpy(&to, from, sizeof to);
}
DLC_INLINE void write(const Lanes &from, float *to) {
  __builtin_memcpy(to, &from, sizeof from);
}
DLC_INLINE float sum(const Lanes &x) {
  float halves[kLanes];
  write(x, halves);
#pragma GCC unroll 4
  for (int n = kLanes / 2; n > 0; n /= 2)
#pragma GCC unroll 16
    for (int l = 0; l < n; ++l)
      halves[l] += halves[l + n];
  return halves[0];
}

template <class T> DLC_INLINE void readAs(const T *from, Lanes &to) {
  float lanes[kLanes];
  for (int l = 0; l < kLanes; ++l)
    lanes[l] = load(from[l]);
  read(lanes, to);
}

template <class T> DLC_INLINE float dot(const T *a, const T *b, int64_t count) {
  Lanes total{}, left, right;
  int64_t j = 0;
  for (; j + kLanes <= count; j += kLanes) {
    readAs(a + j, left);
    readAs(b + j, right);
    total += left * right;
  }
  float result = sum(total);
  for (; j < count; ++j)
    result += load(a[j]) * load(b[j]);
  return result;
}

// e^x within 2 ulp; 0 below -87.3, including -inf. x must be at most 88.
DLC_INLINE void exponential(Lanes &x) {
  const Lanes least = Lanes{} - 87.3f, input = x;
  x = x < least ? least : x;
  // The sum with 1.5 * 2^23 rounds to a whole number, in the lowest bits.
  const Lanes shifted = x * 1.44269504f + 12582912.f, n = shifted - 12582912.f;
  x -= n * 0.693145752f;
  x -= n * 1.42860677e-6f;
  Lanes p = 1.98756912e-4f * x + 1.39819994e-3f;
  p = p * x + 8.33345205e-3f;
  p = p * x + 4.16657962e-2f;
  p = p * x + 1.66666657e-1f;
  p = p * x + 0.5f;
  p = p * x * x + x + 1.f;
  const IntLanes exponent = (IntLanes(shifted) - 0x4b400000 + 127) << 23;
  p *= Lanes(exponent);
  x = input < least ? Lanes{} : p;
}

// Loads a row of a matrix into the cache, to be written if `kWrites`: rows are
// too far apart for the hardware to predict. The address need not be valid.
constexpr int64_t kRowsAhead = 8;
template <bool kWrites, class T>
DLC_INLINE void prefetchRow(const T *from, int64_t offset, int64_t columns) {
  constexpr int64_t kLine = 64 / sizeof(T);
  for (int64_t j = 0; j < columns; j += kLine)
    __builtin_prefetch(reinterpret_cast<const void *>(
                           uintptr_t(from) + uintptr_t(offset + j) * sizeof(T)),
                       kWrites);
}

DLC_INLINE int64_t roundUp(int64_t x, int64_t unit) {
  return (x + unit - 1) / unit * unit;
}

// The sizes of the register block: kRows rows of `a` times a panel of kColumns
// columns of `b`.
struct Block {
  static constexpr int64_t kRows = kBlockRows, kColumns = 2 * kLanes;
};

// A strided matrix: element (i, j) is at i * row + j * column.
struct Strided {
  const float *data;
  int64_t row, column;
};

// c[kRows, Vectors * kLanes] = or += a b with depth `inner`; b is a panel with
// `inner` rows of kColumns. Sums in order of depth.
template <bool kAdds, int Vectors>
DLC_INLINE void multiplyBlock(const Strided &a, const float *b, int64_t inner,
                              float *c, int64_t ofRow) {
  Lanes sums[Block::kRows][Vectors];
#pragma GCC unroll 16
  for (int i = 0; i < Block::kRows; ++i)
#pragma GCC unroll 2
    for (int j = 0; j < Vectors; ++j)
      if (kAdds)
        read(c + i * ofRow + j * kLanes, sums[i][j]);
      else
        sums[i][j] = Lanes{};
  const float *at = a.data;
  for (int64_t l = 0; l < inner; ++l, at += a.column, b += Block::kColumns) {
    Lanes right[Vectors];
#pragma GCC unroll 2
    for (int j = 0; j < Vectors; ++j)
      read(b + j * kLanes, right[j]);
#pragma GCC unroll 16
    for (int i = 0; i < Block::kRows; ++i) {
      const float factor = at[i * a.row];
#pragma GCC unroll 2
      for (int j = 0; j < Vectors; ++j)
        sums[i][j] += factor * right[j];
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < Block::kRows; ++i)
#pragma GCC unroll 2
    for (int j = 0; j < Vectors; ++j)
      write(sums[i][j], c + i * ofRow + j * kLanes);
}

// Indices [begin, end).
struct InnerRange {
  int64_t begin, end;
};

// c[rows, columns] = or += a b, with rows rounded up to blocks and columns to
// vectors. The block at (i, j) sums over innerOf(i, j) and is not written if
// that is empty. Consecutive panels of b are ofPanel floats apart.
template <bool kAdds, class InnerOf>
DLC_INLINE void multiply(const Strided &a, const float *b, int64_t ofPanel,
                         int64_t rows, int64_t columns, InnerOf innerOf,
                         float *c, int64_t ofRow) {
  for (int64_t j = 0; j < columns; j += Block::kColumns)
    for (int64_t i = 0; i < rows; i += Block::kRows) {
      const InnerRange inner = innerOf(i, j);
      if (inner.begin >= inner.end)
        continue;
      const Strided from = {a.data + i * a.row + inner.begin * a.column, a.row,
                            a.column};
      const float *const panel =
          b + j / Block::kColumns * ofPanel + inner.begin * Block::kColumns;
      float *const to = c + i * ofRow + j;
      if (columns - j > kLanes)
        multiplyBlock<kAdds, 2>(from, panel, inner.end - inner.begin, to,
                                ofRow);
      else
        multiplyBlock<kAdds, 1>(from, panel, inner.end - inner.begin, to,
                                ofRow);
    }
}

// Packs a row-major [rows, columns] matrix into panels, padded with zeros.
template <class T>
void packPanels(const T *from, int64_t ofRow, int64_t rows, int64_t columns,
                float factor, float *to, int64_t ofPanel) {
  for (int64_t j = 0; j < columns; j += Block::kColumns, to += ofPanel) {
    const int64_t width = std::min(columns - j, Block::kColumns);
    for (int64_t i = 0; i < rows; ++i) {
      float *const row = to + i * Block::kColumns;
      const T *const source = from + i * ofRow + j;
      prefetchRow<false>(source, kRowsAhead * ofRow, width);
      if (width == Block::kColumns)
        for (int64_t l = 0; l < Block::kColumns; ++l)
          row[l] = load(source[l]) * factor;
      else
        for (int64_t l = 0; l < Block::kColumns; ++l)
          row[l] = l < width ? load(source[l]) * factor : 0;
    }
  }
}

// Exchanges groups of Step lanes between vectors whose indices differ by Step.
template <int Step, int... L>
DLC_INLINE void exchange(Lanes (&x)[kLanes], std::integer_sequence<int, L...>) {
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i)
    if (!(i & Step)) {
      const Lanes a = x[i], b = x[i + Step];
      x[i] =
          __builtin_shufflevector(a, b, (L & Step ? kLanes + L - Step : L)...);
      x[i + Step] =
          __builtin_shufflevector(a, b, (L & Step ? kLanes + L : L + Step)...);
    }
}
// Transposes kLanes vectors as a square matrix.
template <int Step = 1> DLC_INLINE void transpose(Lanes (&x)[kLanes]) {
  exchange<Step>(x, std::make_integer_sequence<int, kLanes>());
  if constexpr (2 * Step < kLanes)
    transpose<2 * Step>(x);
}

// Packs the transpose of a row-major [columns, rows] matrix into panels.
template <class T>
void packTransposed(const T *from, int64_t ofRow, int64_t rows, int64_t columns,
                    float *to, int64_t ofPanel) {
  for (int64_t j = 0; j < columns + (-columns & (Block::kColumns - 1));
       j += kLanes) {
    float *const half =
        to + j / Block::kColumns * ofPanel + j % Block::kColumns;
    const int64_t width = std::clamp<int64_t>(columns - j, 0, kLanes);
    int64_t i = 0;
    for (; width == kLanes && i + kLanes <= rows; i += kLanes) {
      Lanes x[kLanes];
#pragma GCC unroll 16
      for (int l = 0; l < kLanes; ++l) {
        const T *const source = from + (j + l) * ofRow + i;
        prefetchRow<false>(source, kLanes * ofRow, kLanes);
        readAs(source, x[l]);
      }
      transpose(x);
#pragma GCC unroll 16
      for (int l = 0; l < kLanes; ++l)
        write(x[l], half + (i + l) * Block::kColumns);
    }
    for (; i < rows; ++i)
      for (int64_t l = 0; l < kLanes; ++l)
        half[i * Block::kColumns + l] =
            l < width ? load(from[(j + l) * ofRow + i]) : 0;
  }
}
