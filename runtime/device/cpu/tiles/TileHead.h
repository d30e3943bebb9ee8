// SPDX-License-Identifier: Apache-2.0
// What a head's attention and its gradient have in common: what
// TileAttention.cpp includes where it compiles for these CPUs. It includes
// nothing itself.

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int64_t kBlock = kTileBlock; // queries or keys
constexpr int64_t kSide = 128;         // of a square of scores
constexpr int64_t kBlocks = kSide / kBlock;
constexpr int64_t kSums = 4 * kTileFloats; // of a block by a block

DLC_INLINE int64_t blocksIn(int64_t count) {
  return (count + kBlock - 1) / kBlock;
}

// The first `count` of 32 elements, or all.
DLC_INLINE uint32_t firstOf(int64_t count) {
  return static_cast<uint32_t>(
      (uint64_t(1) << std::min<int64_t>(count, kBlock)) - 1);
}

// Hands out parts of a thread's memory, which are whole tiles.
class Tiles {
public:
  explicit Tiles(float *at) : at_(reinterpret_cast<std::byte *>(at)) {}
  std::byte *take(int64_t tiles) {
    std::byte *const taken = at_;
    at_ += tiles * kTileBytes;
    return taken;
  }
  float *takeSums(int64_t blocks) {
    return reinterpret_cast<float *>(take(4 * blocks));
  }

private:
  std::byte *at_;
};

// Tiles of 32 lines of a matrix, zeros behind its end: lines are rows or
// columns (two tiles, each with all terms), or they are terms (a step of all
// columns, `stride` bytes apart).
class Packer {
public:
  // `zeros`: of a line.
  Packer(const TileLoops &loops, const std::byte *zeros)
      : loops_(loops), zeros_(reinterpret_cast<const uint16_t *>(zeros)) {}

  void packLines(TileSide side, const Bf16 *from, int64_t ofRow, int64_t first,
                 int64_t end, int64_t terms, std::byte *to) {
    find(from, ofRow, first, end);
    loops_.packLines(side, lines_, terms, to);
    loops_.packLines(side, lines_ + 16, terms,
                     to + blocksIn(terms) * kTileBytes);
  }
  void packTerms(TileSide side, const Bf16 *from, int64_t ofRow, int64_t first,
                 int64_t end, int64_t columns, std::byte *to, int64_t stride) {
    find(from, ofRow, first, end);
    loops_.packTerms(side, lines_, columns, to, stride);
  }

private:
  void find(const Bf16 *from, int64_t ofRow, int64_t first, int64_t end) {
    for (int64_t i = 0; i < kBlock; ++i)
      lines_[i] = first + i < end ? &from[(first + i) * ofRow].bits : zeros_;
  }

  const TileLoops &loops_;
  const uint16_t *const zeros_;
  const uint16_t *lines_[kBlock];
};

// Both vectors of 32 queries in a row of a block's sums.
DLC_INLINE void readRow(const float *sums, int64_t row, Lanes *to) {
  const float *const from = sums + tileRow(row);
  read(from, to[0]);
  read(from + kTileFloats, to[1]);
}
DLC_INLINE void writeRow(const Lanes *from, int64_t row, float *sums) {
  float *const to = sums + tileRow(row);
  write(from[0], to);
  write(from[1], to + kTileFloats);
}

DLC_INLINE __m512i rounded(const Lanes &low, const Lanes &high) {
  const __m512bh both = _mm512_cvtne2ps_pbh((__m512)high, (__m512)low);
  return (__m512i)both;
}

// Two rows of 32 columns as a row of pairs in each of two tiles on the right.
DLC_INLINE void storePairs(const Lanes *even, const Lanes *odd, std::byte *to,
                           int64_t stride) {
  const __m512i order = _mm512_set_epi32(
      0x001f000f, 0x001e000e, 0x001d000d, 0x001c000c, 0x001b000b, 0x001a000a,
      0x00190009, 0x00180008, 0x00170007, 0x00160006, 0x00150005, 0x00140004,
      0x00130003, 0x00120002, 0x00110001, 0x00100000);
#pragma GCC unroll 2
  for (int half = 0; half < 2; ++half)
    _mm512_store_si512(
        to + half * stride,
        _mm512_permutexvar_epi16(order, rounded(even[half], odd[half])));
}

// Rows of 32 channels from sums whose columns are queries, each times its
// factor.
DLC_INLINE void storeTransposed(const float *sums, const Lanes *factors,
                                int64_t rows, int64_t columns, Bf16 *to,
                                int64_t ofRow) {
  const uint32_t mask = firstOf(columns);
  for (int64_t half = 0; half < 2 && 16 * half < rows; ++half) {
    Lanes low[16], high[16];
    for (int i = 0; i < 16; ++i) {
      read(sums + half * kTileFloats + i * 16, low[i]);
      read(sums + (2 + half) * kTileFloats + i * 16, high[i]);
      low[i] *= factors[half];
      high[i] *= factors[half];
    }
    transpose(low);
    transpose(high);
    for (int64_t i = 0; i < std::min<int64_t>(16, rows - 16 * half); ++i)
      _mm512_mask_storeu_epi16(to + (16 * half + i) * ofRow, mask,
                               rounded(low[i], high[i]));
  }
}

// A row of scores, of key `key` and the queries from `first` on: scaled and
// masked. A key beyond the end is seen by none.
struct Scores {
  const AttentionGeometry &g;
  const AttentionMask &mask;

  DLC_INLINE void finish(Lanes *row, int64_t key, int64_t first) const {
    if (key >= g.keys) {
      row[0] = row[1] = Lanes{} - kInfinity;
      return;
    }
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const int64_t query = first + 16 * half;
      row[half] *= g.scale;
      if (mask.data)
        add(row[half], key, query);
      if (g.causal && query < key)
        hide(row[half], key - query);
    }
  }

private:
  DLC_INLINE void add(Lanes &row, int64_t key, int64_t query) const {
    const float *const at = mask.data + key * mask.ofKey;
    float lanes[16];
    for (int64_t i = 0; i < 16; ++i)
      lanes[i] = at[std::min(query + i, g.queries - 1) * mask.ofQuery];
    Lanes added;
    read(lanes, added);
    row += added;
  }
  // From the first `count` queries.
  static DLC_INLINE void hide(Lanes &row, int64_t count) {
    const IntLanes lane = {0, 1, 2,  3,  4,  5,  6,  7,
                           8, 9, 10, 11, 12, 13, 14, 15};
    row = lane < int32_t(std::min<int64_t>(count, 16)) ? Lanes{} - kInfinity
                                                       : row;
  }
};

// Softmax's state of 32 queries: the largest score so far, and the sum of
// e^(score - largest).
struct ColumnSums {
  Lanes most[2], total[2];

  DLC_INLINE void clear() {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half)
      most[half] = Lanes{} - kInfinity, total[half] = Lanes{};
  }
  // The factor of what was summed before, if `now` are the largest scores.
  DLC_INLINE void raise(const Lanes *now, Lanes *kept) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      kept[half] = most[half] - shiftOf(now[half]);
      exponential(kept[half]);
      most[half] = now[half];
      total[half] *= kept[half];
    }
  }
  // A row of scores becomes its exponentials, which are added.
  DLC_INLINE void add(const Lanes *shifts, Lanes *row) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      row[half] -= shifts[half];
      exponential(row[half]);
      total[half] += row[half];
    }
  }
  // No score of a query that sees no key is above -infinity.
  static DLC_INLINE Lanes shiftOf(const Lanes &most) {
    return most == Lanes{} - kInfinity ? Lanes{} : most;
  }
};

// The larger; NaN if one is.
DLC_INLINE Lanes larger(const Lanes &a, const Lanes &b) {
  return (a > b) | (a != a) ? a : b;
}

// That hold a line of zeros.
DLC_INLINE int64_t zeroTiles(const AttentionGeometry &g) {
  return (std::max(g.depth, g.valueDepth) * 2 - 1) / kTileBytes + 1;
}

// What the forward pass and its gradient have in common.
class Head {
public:
  Head(const AttentionGeometry &g, const AttentionMask &mask, float *memory)
      : g(g), scores{g, mask}, depths(blocksIn(g.depth)),
        values(blocksIn(g.valueDepth)), keyBlocks(blocksIn(g.keys)),
        tiles(memory), packer(loops, zeros()) {}

  // Blocks of keys that a block of queries sees some of.
  int64_t seenBy(int64_t first) const {
    return g.causal ? std::min(keyBlocks, blocksIn(first + kBlock)) : keyBlocks;
  }
  // Of a block those to compute, rounded up to pairs of terms.
  int64_t keysIn(int64_t block) const {
    return partOf(g.keys - block * kBlock);
  }
  int64_t queriesIn(int64_t first) const { return partOf(g.queries - first); }
  // The products of a block of keys and one of queries.
  void multiplyScores(const std::byte *keys, const std::byte *queries,
                      int64_t block, int64_t first, float *to) const {
    const int64_t stride = depths * kTileBytes;
    loops.multiply({keys + block * 2 * stride, queries, stride, stride, depths,
                    to, false, keysIn(block), queriesIn(first)});
  }
  // Finished; raises `most`.
  void findScores(const std::byte *keys, const std::byte *queries,
                  int64_t first, int64_t block, float *to, Lanes *most) const {
    multiplyScores(keys, queries, block, first, to);
    for (int64_t i = 0; i < keysIn(block); ++i) {
      Lanes row[2];
      readRow(to, i, row);
      scores.finish(row, block * kBlock + i, first);
      writeRow(row, i, to);
#pragma GCC unroll 2
      for (int half = 0; half < 2; ++half)
        most[half] = larger(row[half], most[half]);
    }
  }

  const AttentionGeometry &g;
  const Scores scores;
  const TileLoops &loops = *tileLoops();
  const int64_t depths, values, keyBlocks; // blocks
  Tiles tiles;
  Packer packer;

private:
  // AMX computes all of a block.
  int64_t partOf(int64_t left) const {
    return loops.isAmx || left >= kBlock ? kBlock : (left + 1) / 2 * 2;
  }
  std::byte *zeros() {
    const int64_t count = zeroTiles(g);
    std::byte *const line = tiles.take(count);
    std::fill_n(line, count * kTileBytes, std::byte{});
    return line;
  }
};
