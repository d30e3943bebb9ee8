// SPDX-License-Identifier: Apache-2.0
// Scores are computed transposed, a row per key: softmax's sums over keys are
// sums of vectors, each lane of which is a query.
#include "runtime/device/cpu/tiles/TileAttention.h"

#if defined(__x86_64__) && defined(__linux__)

// GCC 12 warns of values that its own header leaves undefined on purpose.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include "runtime/device/cpu/Simd.h"
#include "runtime/device/cpu/tiles/TileLoops.h"

#include <algorithm>
#include <cmath>
#include <immintrin.h>
#include <limits>
#include <utility>

namespace dlc {
namespace {

#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4,avx512bf16,prefer-vector-width=512")

constexpr int kLanes = 16, kBlockRows = 12;
#include "runtime/device/cpu/kernels/Lanes.h"

#include "runtime/device/cpu/tiles/TileHead.h"

#include "runtime/device/cpu/tiles/TileHeadGradient.h"

int64_t forwardTiles(const AttentionGeometry &g) {
  const int64_t depths = blocksIn(g.depth), values = blocksIn(g.valueDepth),
                keys = blocksIn(g.keys);
  return zeroTiles(g) + 2 * depths * keys + 2 * values * keys + 2 * depths +
         4 * kBlocks + 2 * kBlocks + 4 * values;
}

class HeadForward : Head {
public:
  HeadForward(const AttentionGeometry &g, const AttentionMask &mask,
              const Bf16 *q, const Bf16 *k, const Bf16 *v, float *memory)
      : Head(g, mask, memory), q_(q), k_(k), v_(v) {}

  void run(int64_t begin, int64_t end, Bf16 *y, float *lse) {
    const int64_t seen = seenBy(end - 1);
    for (int64_t block = 0; block < seen; ++block) {
      packer.packLines(TileSide::Left, k_, g.stride, block * kBlock, g.keys,
                       g.depth, keys_ + block * 2 * depths * kTileBytes);
      packer.packTerms(TileSide::Left, v_, g.valueStride, block * kBlock,
                       g.keys, g.valueDepth, values_ + block * kTileBytes,
                       keyBlocks * kTileBytes);
    }
    loops.enter();
    for (int64_t first = begin; first < end; first += kBlock)
      runBlock(first, std::min(kBlock, end - first), y, lse);
    loops.leave();
  }

private:
  void runBlock(int64_t first, int64_t rows, Bf16 *y, float *lse) {
    packer.packLines(TileSide::Right, q_, g.stride, first, g.queries, g.depth,
                     queries_);
    sums_.clear();
    const int64_t seen = seenBy(first);
    for (int64_t begin = 0; begin < seen; begin += kBlocks)
      addKeys(first, begin, std::min(begin + kBlocks, seen));
    Lanes factors[2];
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      float most[16], total[16];
      write(sums_.most[half], most);
      write(sums_.total[half], total);
      factors[half] =
          sums_.total[half] == Lanes{} ? Lanes{} : 1 / sums_.total[half];
      for (int64_t i = 0; i < std::min<int64_t>(16, rows - 16 * half); ++i)
        lse[first + 16 * half + i] =
            total[i] == 0 ? kInfinity : most[i] + std::log(total[i]);
    }
    for (int64_t value = 0; value < values; ++value)
      storeTransposed(out_ + value * kSums, factors, rows,
                      std::min(kBlock, g.valueDepth - value * kBlock),
                      y + first * g.outStride + value * kBlock, g.outStride);
  }

  void addKeys(int64_t first, int64_t begin, int64_t end) {
    Lanes most[2] = {sums_.most[0], sums_.most[1]}, kept[2];
    for (int64_t block = begin; block < end; ++block)
      findScores(keys_, queries_, first, block,
                 scoresOf_ + (block - begin) * kSums, most);
    sums_.raise(most, kept);
    const Lanes shifts[2] = {ColumnSums::shiftOf(most[0]),
                             ColumnSums::shiftOf(most[1])};
    for (int64_t block = begin; block < end; ++block)
      for (int64_t i = 0; i < keysIn(block); i += 2) {
        Lanes rows[2][2];
#pragma GCC unroll 2
        for (int64_t odd = 0; odd < 2; ++odd) {
          readRow(scoresOf_ + (block - begin) * kSums, i + odd, rows[odd]);
          sums_.add(shifts, rows[odd]);
        }
        storePairs(rows[0], rows[1],
                   weights_ + (block - begin) * kTileBytes + i / 2 * 64,
                   kBlocks * kTileBytes);
      }
    for (int64_t value = 0; value < values; ++value) {
      float *const out = out_ + value * kSums;
      for (int64_t i = 0; i < kBlock && begin > 0; ++i) {
        Lanes row[2];
        readRow(out, i, row);
        row[0] *= kept[0], row[1] *= kept[1];
        writeRow(row, i, out);
      }
      loops.multiply({values_ + (value * 2 * keyBlocks + begin) * kTileBytes,
                      weights_, keyBlocks * kTileBytes, kBlocks * kTileBytes,
                      end - begin, out, begin > 0, kBlock, queriesIn(first),
                      keysIn(end - 1) / 2});
    }
  }

  const Bf16 *q_, *k_, *v_;
  ColumnSums sums_;
  std::byte *const keys_ = tiles.take(2 * depths * keyBlocks),
                   *const values_ = tiles.take(2 * values * keyBlocks),
                   *const queries_ = tiles.take(2 * depths);
  float *const scoresOf_ = tiles.takeSums(kBlocks);
  std::byte *const weights_ = tiles.take(2 * kBlocks);
  float *const out_ = tiles.takeSums(values);
};

int64_t forwardFloats(const AttentionGeometry &g) {
  return forwardTiles(g) * kTileFloats;
}
int64_t backwardFloats(const AttentionGeometry &g) {
  return backwardTiles(g) * kTileFloats;
}
void forward(const AttentionGeometry &g, const AttentionMask &mask,
             const Bf16 *q, const Bf16 *k, const Bf16 *v, Bf16 *y, float *lse,
             int64_t begin, int64_t end, float *memory) {
  HeadForward(g, mask, q, k, v, memory).run(begin, end, y, lse);
}
void backward(const AttentionGeometry &g, const AttentionMask &mask,
              const Bf16 *dy, const Bf16 *q, const Bf16 *k, const Bf16 *v,
              const Bf16 *y, const float *lse, Bf16 *dq, Bf16 *dk, Bf16 *dv,
              float *memory) {
  HeadGradient(g, mask, {dy, q, k, v, y, lse, dq, dk, dv}, memory).run();
}

#pragma GCC pop_options

constexpr AttentionLoops<Bf16> kLoops = {kBlock, forwardFloats, backwardFloats,
                                         forward, backward};

} // namespace

const AttentionLoops<Bf16> *tileAttentionLoops() {
  return tileLoops() ? &kLoops : nullptr;
}

} // namespace dlc

#else

namespace dlc {

const AttentionLoops<Bf16> *tileAttentionLoops() { return nullptr; }

} // namespace dlc

#endif
