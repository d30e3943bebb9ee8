// SPDX-License-Identifier: Apache-2.0
// What a head's attention and its gradient share. TileAttention.cpp includes
// this where it compiles for these CPUs. Includes nothing.

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int64_t kBlock = kTileBlock; // queries or keys
constexpr int64_t kSide = 128;         // side of a square of scores
constexpr int64_t kBlocks = kSide / kBlock;
constexpr int64_t kSums = 4 * kTileFloats; // of a block by a block, in floats

DLC_INLINE int64_t blocksIn(int64_t count) {
  return (count + kBlock - 1) / kBlock;
}

// A mask of the first `count` of 32 elements, or of all.
DLC_INLINE uint32_t firstOf(int64_t count) {
  return static_cast<uint32_t>(
      (uint64_t(1) << std::min<int64_t>(count, kBlock)) - 1);
}

// Allocates whole tiles in a thread's memory.
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

// Packs 32 lines of a matrix into tiles, padded with zeros: lines are rows or
// columns (two tiles with all terms), or terms (one step of all columns, tiles
// `stride` bytes apart).
class Packer {
public:
  // `zeros`: a line of zeros.
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

// Reads both vectors of 32 queries in a row of a block's sums.
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

// Stores two rows of 32 columns as a row of pairs in each of two right tiles.
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

// Stores rows of 32 channels, each times its factor, from sums whose columns
// are queries.
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

// A row of scores for key `key` and queries from `first` on, scaled and masked.
// Keys beyond the end are masked for all queries.
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
  // Masks the first `count` queries.
  static DLC_INLINE void hide(Lanes &row, int64_t count) {
    const IntLanes lane = {0, 1, 2,  3,  4,  5,  6,  7,
                           8, 9, 10, 11, 12, 13, 14, 15};
    row = lane < int32_t(std::min<int64_t>(count, 16)) ? Lanes{} - kInfinity
                                                       : row;
  }
};

// The state of an online softmax for 32 queries: the largest score so far, and
// the sum of e^(score - largest).
struct ColumnSums {
  Lanes most[2], total[2];

  DLC_INLINE void clear() {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half)
      most[half] = Lanes{} - kInfinity, total[half] = Lanes{};
  }
  // Updates the largest scores with `now`; `kept` becomes the factor by which
  // earlier sums must be scaled.
  DLC_INLINE void raise(const Lanes *now, Lanes *kept) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      kept[half] = most[half] - shiftOf(now[half]);
      exponential(kept[half]);
      most[half] = now[half];
      total[half] *= kept[half];
    }
  }
  // Replaces a row of scores by its exponentials, and adds them to the sums.
  DLC_INLINE void add(const Lanes *shifts, Lanes *row) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      row[half] -= shifts[half];
      exponential(row[half]);
      total[half] += row[half];
    }
  }
  // Avoids inf - inf for queries whose keys are all masked.
  static DLC_INLINE Lanes shiftOf(const Lanes &most) {
    return most == Lanes{} - kInfinity ? Lanes{} : most;
  }
};

// The larger element; NaN if either is.
DLC_INLINE Lanes larger(const Lanes &a, const Lanes &b) {
  return (a > b) | (a != a) ? a : b;
}

// Tiles that a line of zeros needs.
DLC_INLINE int64_t zeroTiles(const AttentionGeometry &g) {
  return (std::max(g.depth, g.valueDepth) * 2 - 1) / kTileBytes + 1;
}

// What the forward pass and the gradient share.
class Head {
public:
  Head(const AttentionGeometry &g, const AttentionMask &mask, float *memory)
      : g(g), scores{g, mask}, depths(blocksIn(g.depth)),
        values(blocksIn(g.valueDepth)), keyBlocks(blocksIn(g.keys)),
        tiles(memory), packer(loops, zeros()) {}

  // Number of key blocks that a block of queries attends to, at least in part.
  int64_t seenBy(int64_t first) const {
    return g.causal ? std::min(keyBlocks, blocksIn(first + kBlock)) : keyBlocks;
  }
  // Keys of a block to compute, rounded up to pairs of terms.
  int64_t keysIn(int64_t block) const {
    return partOf(g.keys - block * kBlock);
  }
  int64_t queriesIn(int64_t first) const { return partOf(g.queries - first); }
  // Multiplies a block of keys and a block of queries.
  void multiplyScores(const std::byte *keys, const std::byte *queries,
                      int64_t block, int64_t first, float *to) const {
    const int64_t stride = depths * kTileBytes;
    loops.multiply({keys + block * 2 * stride, queries, stride, stride, depths,
                    to, false, keysIn(block), queriesIn(first)});
  }
  // Computes the scaled and masked scores; updates `most`.
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
  const int64_t depths, values, keyBlocks; // in blocks
  Tiles tiles;
  Packer packer;

private:
  // AMX always computes whole blocks.
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
