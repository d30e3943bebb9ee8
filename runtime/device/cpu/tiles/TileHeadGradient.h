// SPDX-License-Identifier: Apache-2.0
// The gradient of a head's attention. TileAttention.cpp includes this where it
// compiles for these CPUs. Includes nothing.

int64_t backwardTiles(const AttentionGeometry &g) {
  const int64_t depths = blocksIn(g.depth), values = blocksIn(g.valueDepth),
                keys = blocksIn(g.keys),
                queries =
                    (blocksIn(g.queries) * 3 * kBlock - 1) / kTileFloats + 1;
  return zeroTiles(g) + queries + keys * (4 * depths + 2 * values) +
         kBlocks * 4 * (depths + values) + 4 * keys * (depths + values) +
         4 * kBlocks * depths + 8 + 3 * 2 * kBlocks * kBlocks;
}

// Iterates over squares of 128 queries by 128 keys.
class HeadGradient : Head {
public:
  struct Tensors {
    const Bf16 *dy, *q, *k, *v, *y;
    const float *lse;
    Bf16 *dq, *dk, *dv;
  };

  HeadGradient(const AttentionGeometry &g, const AttentionMask &mask,
               const Tensors &x, float *memory)
      : Head(g, mask, memory), x_(x) {}

  void run() {
    packKeys();
    const int64_t seen = seenBy((g.queries - 1) / kBlock * kBlock),
                  unseen = keyBlocks - seen;
    std::fill_n(dk_ + seen * depths * kSums, unseen * depths * kSums, 0.f);
    std::fill_n(dv_ + seen * values * kSums, unseen * values * kSums, 0.f);
    loops.enter();
    for (int64_t first = 0; first < g.queries; first += kSide)
      runQueries(first);
    loops.leave();
    for (int64_t block = 0; block < keyBlocks; ++block) {
      const int64_t key = block * kBlock;
      writeRows(dk_ + block * depths * kSums, depths, g.depth, key,
                x_.dk + key * g.stride, g.stride);
      writeRows(dv_ + block * values * kSums, values, g.valueDepth, key,
                x_.dv + key * g.valueStride, g.valueStride);
    }
  }

private:
  void packKeys() {
    for (int64_t block = 0; block < keyBlocks; ++block) {
      const int64_t key = block * kBlock;
      packer.packLines(TileSide::Left, x_.k, g.stride, key, g.keys, g.depth,
                       keys_ + block * 2 * depths * kTileBytes);
      packer.packLines(TileSide::Left, x_.v, g.valueStride, key, g.keys,
                       g.valueDepth,
                       valueRows_ + block * 2 * values * kTileBytes);
      packer.packTerms(TileSide::Left, x_.k, g.stride, key, g.keys, g.depth,
                       keyTerms_ + block * kTileBytes, keyBlocks * kTileBytes);
    }
  }

  void writeRows(const float *sums, int64_t blocks, int64_t width, int64_t key,
                 Bf16 *to, int64_t ofRow) const {
    for (int64_t at = 0; at < blocks; ++at)
      loops.writeBlock({sums + at * kSums, &to[at * kBlock].bits, ofRow,
                        std::min(kBlock, g.keys - key),
                        std::min(kBlock, width - at * kBlock)});
  }

  void packQueries(int64_t block, int64_t first) {
    packer.packLines(TileSide::Right, x_.q, g.stride, first, g.queries, g.depth,
                     queries_ + block * 2 * depths * kTileBytes);
    packer.packTerms(TileSide::Right, x_.q, g.stride, first, g.queries, g.depth,
                     queryTerms_ + block * kTileBytes, kBlocks * kTileBytes);
    packer.packLines(TileSide::Right, x_.dy, g.outStride, first, g.queries,
                     g.valueDepth, dyRows_ + block * 2 * values * kTileBytes);
    packer.packTerms(TileSide::Right, x_.dy, g.outStride, first, g.queries,
                     g.valueDepth, dyTerms_ + block * kTileBytes,
                     kBlocks * kTileBytes);
  }

  static DLC_INLINE float product(const Bf16 *a, const Bf16 *b, int64_t count) {
    __m512 sums = _mm512_setzero_ps();
    for (int64_t at = 0; at < count; at += kBlock) {
      const uint32_t mask = firstOf(count - at);
      sums = _mm512_dpbf16_ps(sums,
                              (__m512bh)_mm512_maskz_loadu_epi16(mask, a + at),
                              (__m512bh)_mm512_maskz_loadu_epi16(mask, b + at));
    }
    return _mm512_reduce_add_ps(sums);
  }

  // Computes shift and factor of each query, with which the weight of a key is
  // factor * e^(score - shift): lse and 1. With a mask, scores may be so low
  // that lse cannot represent the logarithm of the sum; then they are
  // recomputed.
  void findWeights(int64_t block, int64_t first) {
    float *const shifts = shifts_ + first, *const factors = factors_ + first,
                 *const deltas = deltas_ + first;
    for (int64_t i = 0; i < kBlock; ++i) {
      const bool isReal = first + i < g.queries;
      shifts[i] = isReal ? x_.lse[first + i] : 0;
      factors[i] = isReal ? 1 : 0;
      const int64_t at = (first + i) * g.outStride;
      deltas[i] = isReal ? product(x_.dy + at, x_.y + at, g.valueDepth) : 0;
    }
    if (!scores.mask.data)
      return;
    ColumnSums sums;
    sums.clear();
    for (int64_t key = 0; key < seenBy(first); ++key) {
      Lanes most[2] = {sums.most[0], sums.most[1]}, kept[2];
      findScores(keys_, queries_ + block * 2 * depths * kTileBytes, first, key,
                 p_, most);
      sums.raise(most, kept);
      const Lanes lowered[2] = {ColumnSums::shiftOf(most[0]),
                                ColumnSums::shiftOf(most[1])};
      for (int64_t i = 0; i < keysIn(key); ++i) {
        Lanes row[2];
        readRow(p_, i, row);
        sums.add(lowered, row);
      }
    }
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const Lanes none{}, &total = sums.total[half];
      write(total == none ? none : sums.most[half], shifts + 16 * half);
      Lanes real;
      read(factors + 16 * half, real);
      write(total == none ? none : real / total, factors + 16 * half);
    }
  }

  void runQueries(int64_t first) {
    const int64_t count = blocksIn(std::min(kSide, g.queries - first));
    for (int64_t block = 0; block < count; ++block) {
      packQueries(block, first + block * kBlock);
      findWeights(block, first + block * kBlock);
    }
    const int64_t seen = seenBy(first + (count - 1) * kBlock);
    for (int64_t key = 0; key < seen; key += kBlocks)
      runSquare(first, count, key, std::min(kBlocks, seen - key));
    const Lanes one[2] = {Lanes{} + 1.f, Lanes{} + 1.f};
    for (int64_t block = 0; block < count; ++block)
      for (int64_t at = 0; at < depths; ++at) {
        const int64_t query = first + block * kBlock;
        storeTransposed(dq_ + (block * depths + at) * kSums, one,
                        std::min(kBlock, g.queries - query),
                        std::min(kBlock, g.depth - at * kBlock),
                        x_.dq + query * g.stride + at * kBlock, g.stride);
      }
  }

  // Blocks of queries [0, queries) from `first` on, and keys [key, key + keys).
  void runSquare(int64_t first, int64_t queries, int64_t key, int64_t keys) {
    const auto seen = [&](int64_t query) {
      return std::clamp<int64_t>(seenBy(first + query * kBlock) - key, 0, keys);
    };
    for (int64_t query = 0; query < queries; ++query)
      for (int64_t i = 0; i < seen(query); ++i)
        runBlock(first, query, key, i);
    for (int64_t i = 0; i < keys; ++i) {
      int64_t begin = 0; // first block of queries that attends to them
      while (seen(begin) <= i)
        ++begin;
      const bool adds = first > 0 && key + i < seenBy(first - kBlock);
      const auto add = [&](const std::byte *left, const std::byte *right,
                           int64_t blocks, float *sums) {
        for (int64_t at = 0; at < blocks; ++at)
          loops.multiply(
              {left + (i * 2 * kBlocks + begin) * kTileBytes,
               right + (at * 2 * kBlocks + begin) * kTileBytes,
               kBlocks * kTileBytes, kBlocks * kTileBytes, queries - begin,
               sums + ((key + i) * blocks + at) * kSums, adds, keysIn(key + i),
               kBlock, queriesIn(first + (queries - 1) * kBlock) / 2});
      };
      add(weights_, dyTerms_, values, dv_);
      add(gradients_, queryTerms_, depths, dk_);
    }
    for (int64_t query = 0; query < queries; ++query)
      for (int64_t at = 0; at < depths && seen(query) > 0; ++at)
        loops.multiply({keyTerms_ + (at * 2 * keyBlocks + key) * kTileBytes,
                        gradientPairs_ + query * 2 * kBlocks * kTileBytes,
                        keyBlocks * kTileBytes, kBlocks * kTileBytes,
                        seen(query), dq_ + (query * depths + at) * kSums,
                        key > 0, kBlock, queriesIn(first + query * kBlock),
                        keysIn(key + seen(query) - 1) / 2});
  }

  // Computes the weights of a block and the gradient of its scores, as tiles.
  void runBlock(int64_t first, int64_t query, int64_t key, int64_t i) {
    const int64_t from = first + query * kBlock, block = key + i,
                  stride = values * kTileBytes;
    multiplyScores(keys_, queries_ + query * 2 * depths * kTileBytes, block,
                   from, p_);
    loops.multiply({valueRows_ + block * 2 * stride,
                    dyRows_ + query * 2 * stride, stride, stride, values, dp_,
                    false, keysIn(block), queriesIn(from)});
    Lanes shifts[2], factors[2], deltas[2];
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      read(shifts_ + from + 16 * half, shifts[half]);
      read(factors_ + from + 16 * half, factors[half]);
      read(deltas_ + from + 16 * half, deltas[half]);
    }
    for (int64_t row = 0; row < keysIn(block); row += 2) {
      Lanes gradients[2][2];
#pragma GCC unroll 2
      for (int64_t odd = 0; odd < 2; ++odd) {
        Lanes weights[2];
        readRow(p_, row + odd, weights);
        scores.finish(weights, block * kBlock + row + odd, from);
        readRow(dp_, row + odd, gradients[odd]);
#pragma GCC unroll 2
        for (int half = 0; half < 2; ++half) {
          weights[half] -= shifts[half];
          exponential(weights[half]);
          weights[half] *= factors[half];
          gradients[odd][half] =
              weights[half] * (gradients[odd][half] - deltas[half]) * g.scale;
        }
        const int64_t at =
            ((i * 2 + (row + odd) / 16) * kBlocks + query) * kTileBytes +
            (row + odd) % 16 * 64;
        _mm512_store_si512(weights_ + at, rounded(weights[0], weights[1]));
        _mm512_store_si512(gradients_ + at,
                           rounded(gradients[odd][0], gradients[odd][1]));
      }
      storePairs(gradients[0], gradients[1],
                 gradientPairs_ + (query * 2 * kBlocks + i) * kTileBytes +
                     row / 2 * 64,
                 kBlocks * kTileBytes);
    }
  }

  const Tensors x_;
  float *const shifts_ = reinterpret_cast<float *>(tiles.take(
                   (blocksIn(g.queries) * 3 * kBlock - 1) / kTileFloats + 1)),
               *const factors_ = shifts_ + blocksIn(g.queries) * kBlock,
               *const deltas_ = factors_ + blocksIn(g.queries) * kBlock;
  std::byte *const keys_ = tiles.take(2 * depths * keyBlocks),
                   *const keyTerms_ = tiles.take(2 * depths * keyBlocks),
                   *const valueRows_ = tiles.take(2 * values * keyBlocks),
                   *const queries_ = tiles.take(2 * depths * kBlocks),
                   *const queryTerms_ = tiles.take(2 * depths * kBlocks),
                   *const dyRows_ = tiles.take(2 * values * kBlocks),
                   *const dyTerms_ = tiles.take(2 * values * kBlocks);
  float *const dk_ = tiles.takeSums(keyBlocks * depths),
               *const dv_ = tiles.takeSums(keyBlocks * values),
               *const dq_ = tiles.takeSums(kBlocks * depths),
               *const p_ = tiles.takeSums(1), *const dp_ = tiles.takeSums(1);
  // Tiles with keys as rows and queries as terms, and the other way around.
  std::byte *const weights_ = tiles.take(2 * kBlocks * kBlocks),
                   *const gradients_ = tiles.take(2 * kBlocks * kBlocks),
                   *const gradientPairs_ = tiles.take(2 * kBlocks * kBlocks);
};
