// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/kernels/AttentionLoops.h"
#include "runtime/device/cpu/kernels/Lanes.h"

#include <cmath>
#include <limits>

namespace dlc {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int64_t kQueryBlock = kAttentionRows;
constexpr int64_t kMostKeys = 240; // of a tile, whose scores fit the L2 cache
static_assert(kQueryBlock % Block::kRows == 0);
static_assert(kQueryBlock % Block::kColumns == 0);

int64_t roundUp(int64_t x, int64_t unit) {
  return (x + unit - 1) / unit * unit;
}

// Sizes of the pieces of a thread's memory, from the shape alone.
struct Tiling {
  explicit Tiling(const AttentionGeometry &g)
      : keys(roundUp((g.keys + tilesOf(g) - 1) / tilesOf(g), Block::kColumns)),
        ofRow(roundUp(keys, kQueryBlock)),
        depth(roundUp(g.depth, Block::kColumns)),
        valueDepth(roundUp(g.valueDepth, Block::kColumns)),
        allQueries(roundUp(g.queries, kQueryBlock)) {}
  static int64_t tilesOf(const AttentionGeometry &g) {
    return std::max<int64_t>(1, (g.keys + kMostKeys - 1) / kMostKeys);
  }

  int64_t keys;  // of a tile
  int64_t ofRow; // of scores, and rows of a tile's gradients
  int64_t depth, valueDepth, allQueries;
};

// Hands out parts of a thread's memory.
class Memory {
public:
  explicit Memory(float *at) : at_(at) {}
  float *take(int64_t floats) {
    float *const taken = at_;
    at_ += roundUp(floats, 16);
    return taken;
  }

private:
  float *at_;
};

// Keys [begin, begin + count) as queries [first, first + kQueryBlock) see them.
struct Span {
  int64_t first, begin, count;
};

// The keys of the tile at `begin` that a block of queries sees; none: 0.
DLC_INLINE Span spanOf(const AttentionGeometry &g, const Tiling &t,
                       int64_t first, int64_t begin) {
  int64_t end = std::min(begin + t.keys, g.keys);
  if (g.causal)
    end = std::min(end, std::min(first + kQueryBlock, g.queries));
  return {first, begin, std::max<int64_t>(0, end - begin)};
}

// Adds the mask and hides what row `i` of the block does not see, up to the end
// of the last panel.
DLC_INLINE void maskRow(const AttentionGeometry &g, const AttentionMask &mask,
                        const Span &span, int64_t i, float *scores) {
  const int64_t query = std::min(span.first + i, g.queries - 1);
  if (mask.data) {
    const float *const row =
        mask.data + query * mask.ofQuery + span.begin * mask.ofKey;
    for (int64_t j = 0; j < span.count; ++j)
      scores[j] += row[j * mask.ofKey];
  }
  const int64_t seen =
      g.causal ? std::clamp<int64_t>(query + 1 - span.begin, 0, span.count)
               : span.count;
  for (int64_t j = seen; j < roundUp(span.count, Block::kColumns); ++j)
    scores[j] = -kInfinity;
}

// NaN if there is one.
DLC_INLINE float largest(const float *x, int64_t count) {
  Lanes most = Lanes{} - kInfinity, next;
  for (int64_t j = 0; j < count; j += 8) {
    read(x + j, next);
    most = (next > most) | (next != next) ? next : most;
  }
  float result = most[0];
  for (int l = 1; l < 8; ++l)
    if (most[l] > result || most[l] != most[l])
      result = most[l];
  return result;
}

// x = e^(x - shift), and the sum.
DLC_INLINE float exponentials(float *x, int64_t count, float shift) {
  Lanes total{}, next;
  for (int64_t j = 0; j < count; j += 8) {
    read(x + j, next);
    next -= shift;
    exponential(next);
    write(next, x + j);
    total += next;
  }
  return sum(total);
}

// Rows [first, first + kQueryBlock) of a matrix of `rows`, zeros beyond.
template <class T>
DLC_INLINE void copyRows(const T *from, int64_t stride, int64_t first,
                         int64_t rows, int64_t columns, float factor,
                         float *to) {
  for (int64_t i = 0; i < kQueryBlock; ++i, to += columns)
    if (first + i < rows)
      for (int64_t j = 0; j < columns; ++j)
        to[j] = load(from[(first + i) * stride + j]) * factor;
    else
      for (int64_t j = 0; j < columns; ++j)
        to[j] = 0;
}

template <class T>
DLC_INLINE void storeRow(const float *from, int64_t columns, float factor,
                         T *to) {
  for (int64_t j = 0; j < columns; ++j)
    store(to[j], from[j] * factor);
}

// The softmax's state of a block of queries: the largest score of each row so
// far, and the sum of e^(score - largest).
struct RowSums {
  float *most, *total;

  DLC_INLINE void clear(int64_t rows) {
    for (int64_t i = 0; i < rows; ++i)
      most[i] = -kInfinity, total[i] = 0;
  }
  // Takes a row's scores of one more tile, which become their exponentials.
  // Returns the factor of what was summed before.
  DLC_INLINE float add(int64_t i, float *scores, int64_t count) {
    const float before = most[i], of = largest(scores, count),
                now = before > of ? before : of;
    if (now == -kInfinity) {
      for (int64_t j = 0; j < count; ++j)
        scores[j] = 0;
      return 1;
    }
    const float kept = before == now ? 1 : std::exp(before - now);
    most[i] = now;
    total[i] = total[i] * kept + exponentials(scores, count, now);
    return kept;
  }
};

template <class T>
DLC_INLINE void forward(const AttentionGeometry &g, const AttentionMask &mask,
                        const T *q, const T *k, const T *v, T *y, float *lse,
                        int64_t begin, int64_t end, float *memory) {
  const Tiling t(g);
  const int64_t tiles = Tiling::tilesOf(g);
  Memory parts(memory);
  float *const queries = parts.take(kQueryBlock * g.depth),
               *const scores = parts.take(kQueryBlock * t.ofRow),
               *const sums = parts.take(kQueryBlock * t.valueDepth),
               *const kt = parts.take(tiles * t.keys * g.depth),
               *const vp = parts.take(tiles * t.keys * t.valueDepth);
  const int64_t seen = g.causal ? std::min(end, g.keys) : g.keys;
  for (int64_t at = 0; at < seen; at += t.keys) {
    const int64_t count = std::min(t.keys, seen - at);
    packTransposed(k + at * g.stride, g.stride, g.depth, count,
                   kt + at * g.depth, g.depth * Block::kColumns);
    packPanels(v + at * g.valueStride, g.valueStride, count, g.valueDepth, 1,
               vp + at * t.valueDepth, t.keys * Block::kColumns);
  }
  RowSums rows{parts.take(kQueryBlock), parts.take(kQueryBlock)};
  for (int64_t first = begin; first < end; first += kQueryBlock) {
    copyRows(q, g.stride, first, std::min(end, g.queries), g.depth, g.scale,
             queries);
    rows.clear(kQueryBlock);
    for (int64_t i = 0; i < kQueryBlock * t.valueDepth; ++i)
      sums[i] = 0;
    for (int64_t at = 0; at < seen; at += t.keys) {
      const Span span = spanOf(g, t, first, at);
      if (span.count == 0)
        break;
      const int64_t columns = roundUp(span.count, Block::kColumns);
      multiply<false>({queries, g.depth, 1}, kt + at * g.depth,
                      g.depth * Block::kColumns, kQueryBlock, columns, g.depth,
                      scores, t.ofRow);
      for (int64_t i = 0; i < kQueryBlock; ++i) {
        maskRow(g, mask, span, i, scores + i * t.ofRow);
        const float kept = rows.add(i, scores + i * t.ofRow, columns);
        if (kept != 1)
          for (int64_t j = 0; j < t.valueDepth; ++j)
            sums[i * t.valueDepth + j] *= kept;
      }
      multiply<true>({scores, t.ofRow, 1}, vp + at * t.valueDepth,
                     t.keys * Block::kColumns, kQueryBlock, t.valueDepth,
                     span.count, sums, t.valueDepth);
    }
    for (int64_t i = 0; i < std::min(kQueryBlock, end - first); ++i) {
      const float total = rows.total[i];
      lse[first + i] = total == 0 ? kInfinity : rows.most[i] + std::log(total);
      storeRow(sums + i * t.valueDepth, g.valueDepth,
               total == 0 ? 0 : 1 / total, y + (first + i) * g.outStride);
    }
  }
}

template <class T> struct Tensors {
  const T *dy, *q, *k, *v, *y;
  const float *lse;
  T *dq, *dk, *dv;
};

// The gradient of one head: for each tile of keys all blocks of queries.
template <class T> class Backward {
public:
  DLC_INLINE Backward(const AttentionGeometry &g, const AttentionMask &mask,
                      const Tensors<T> &x, float *memory)
      : g(g), mask(mask), x(x), t(g), parts(memory) {}

  DLC_INLINE void run() {
    findDeltas();
    findWeights();
    for (int64_t i = 0; i < t.allQueries * t.depth; ++i)
      dq[i] = 0;
    for (int64_t at = 0; at < g.keys; at += t.keys)
      runTile(at, std::min(t.keys, g.keys - at));
    for (int64_t i = 0; i < g.queries; ++i)
      storeRow(dq + i * t.depth, g.depth, g.scale, x.dq + i * g.stride);
  }

private:
  // The sums of dy * y.
  DLC_INLINE void findDeltas() {
    for (int64_t i = 0; i < t.allQueries; ++i) {
      float total = 0;
      for (int64_t j = 0; i < g.queries && j < g.valueDepth; ++j)
        total +=
            load(x.dy[i * g.outStride + j]) * load(x.y[i * g.outStride + j]);
      deltas[i] = total;
    }
  }

  // A row's weights of keys are factor * e^(score - shift): lse and 1, but
  // with a mask, whose numbers may be so low that lse cannot hold the logarithm
  // of the sum, they are found again.
  DLC_INLINE void findWeights() {
    if (!mask.data) {
      for (int64_t i = 0; i < t.allQueries; ++i) {
        shifts[i] = i < g.queries ? x.lse[i] : 0;
        factors[i] = i < g.queries ? 1 : 0;
      }
      return;
    }
    RowSums rows{shifts, factors};
    rows.clear(t.allQueries);
    for (int64_t at = 0; at < g.keys; at += t.keys) {
      packKeys(at, std::min(t.keys, g.keys - at));
      for (int64_t first = 0; first < g.queries; first += kQueryBlock) {
        copyRows(x.q, g.stride, first, g.queries, g.depth, g.scale, queries);
        scoresOf(spanOf(g, t, first, at));
        for (int64_t i = 0; i < kQueryBlock; ++i)
          rows.add(first + i, p + i * t.ofRow, columns);
      }
    }
    for (int64_t i = 0; i < t.allQueries; ++i)
      if (factors[i] == 0 || i >= g.queries)
        shifts[i] = factors[i] = 0;
      else
        factors[i] = 1 / factors[i];
  }

  DLC_INLINE void packKeys(int64_t at, int64_t count) {
    packTransposed(x.k + at * g.stride, g.stride, g.depth, count, kt,
                   g.depth * Block::kColumns);
  }

  // p = the masked scores of a block of queries, to the end of its last panel.
  DLC_INLINE void scoresOf(const Span &span) {
    columns = roundUp(span.count, Block::kColumns);
    multiply<false>({queries, g.depth, 1}, kt, g.depth * Block::kColumns,
                    kQueryBlock, columns, g.depth, p, t.ofRow);
    for (int64_t i = 0; i < kQueryBlock; ++i)
      maskRow(g, mask, span, i, p + i * t.ofRow);
  }

  DLC_INLINE void runTile(int64_t at, int64_t count) {
    packKeys(at, count);
    packTransposed(x.v + at * g.valueStride, g.valueStride, g.valueDepth, count,
                   vt, g.valueDepth * Block::kColumns);
    packPanels(x.k + at * g.stride, g.stride, count, g.depth, 1, kp,
               t.keys * Block::kColumns);
    for (int64_t i = 0; i < t.ofRow * t.depth; ++i)
      dk[i] = 0;
    for (int64_t i = 0; i < t.ofRow * t.valueDepth; ++i)
      dv[i] = 0;
    const int64_t begin = g.causal ? at / kQueryBlock * kQueryBlock : 0;
    for (int64_t first = begin; first < g.queries; first += kQueryBlock)
      runBlock(spanOf(g, t, first, at));
    for (int64_t i = 0; i < count; ++i) {
      storeRow(dk + i * t.depth, g.depth, 1, x.dk + (at + i) * g.stride);
      storeRow(dv + i * t.valueDepth, g.valueDepth, 1,
               x.dv + (at + i) * g.valueStride);
    }
  }

  DLC_INLINE void runBlock(const Span &span) {
    const int64_t first = span.first;
    copyRows(x.q, g.stride, first, g.queries, g.depth, g.scale, queries);
    copyRows(x.dy, g.outStride, first, g.queries, g.valueDepth, 1, dys);
    packPanels(queries, g.depth, kQueryBlock, g.depth, 1, qp,
               kQueryBlock * Block::kColumns);
    packPanels(dys, g.valueDepth, kQueryBlock, g.valueDepth, 1, dyp,
               kQueryBlock * Block::kColumns);
    scoresOf(span);
    multiply<false>({dys, g.valueDepth, 1}, vt, g.valueDepth * Block::kColumns,
                    kQueryBlock, columns, g.valueDepth, ds, t.ofRow);
    for (int64_t i = 0; i < kQueryBlock; ++i)
      gradientRow(first + i, p + i * t.ofRow, ds + i * t.ofRow,
                  roundUp(span.count, Block::kRows));
    multiply<true>({p, 1, t.ofRow}, dyp, kQueryBlock * Block::kColumns,
                   span.count, t.valueDepth, kQueryBlock, dv, t.valueDepth);
    multiply<true>({ds, 1, t.ofRow}, qp, kQueryBlock * Block::kColumns,
                   span.count, t.depth, kQueryBlock, dk, t.depth);
    multiply<true>({ds, t.ofRow, 1}, kp, t.keys * Block::kColumns, kQueryBlock,
                   t.depth, span.count, dq + first * t.depth, t.depth);
  }

  // A row of scores becomes the weights, the gradient of these that of the
  // scores; zeros from the last panel to the last block of keys.
  DLC_INLINE void gradientRow(int64_t query, float *weights, float *gradients,
                              int64_t end) {
    const float shift = shifts[query], factor = factors[query],
                delta = deltas[query];
    Lanes weight, gradient;
    for (int64_t j = 0; j < columns; j += 8) {
      read(weights + j, weight);
      read(gradients + j, gradient);
      weight -= shift;
      exponential(weight);
      weight *= factor;
      write(weight, weights + j);
      write(weight * (gradient - delta), gradients + j);
    }
    for (int64_t j = columns; j < end; ++j)
      weights[j] = gradients[j] = 0;
  }

  const AttentionGeometry &g;
  const AttentionMask &mask;
  const Tensors<T> &x;
  const Tiling t;
  Memory parts;
  int64_t columns = 0;
  float *const deltas = parts.take(t.allQueries),
               *const shifts = parts.take(t.allQueries),
               *const factors = parts.take(t.allQueries),
               *const dq = parts.take(t.allQueries * t.depth),
               *const kt = parts.take(t.keys * g.depth),
               *const vt = parts.take(t.keys * g.valueDepth),
               *const kp = parts.take(t.keys * t.depth),
               *const dk = parts.take(t.ofRow * t.depth),
               *const dv = parts.take(t.ofRow * t.valueDepth),
               *const queries = parts.take(kQueryBlock * g.depth),
               *const dys = parts.take(kQueryBlock * g.valueDepth),
               *const qp = parts.take(kQueryBlock * t.depth),
               *const dyp = parts.take(kQueryBlock * t.valueDepth),
               *const p = parts.take(kQueryBlock * t.ofRow),
               *const ds = parts.take(kQueryBlock * t.ofRow);
};

} // namespace

int64_t attentionFloats(const AttentionGeometry &g) {
  const Tiling t(g);
  const int64_t allKeys = Tiling::tilesOf(g) * t.keys;
  return kQueryBlock * (g.depth + t.ofRow + t.valueDepth + 2) +
         allKeys * (g.depth + t.valueDepth) + 7 * 16;
}

int64_t attentionBackwardFloats(const AttentionGeometry &g) {
  const Tiling t(g);
  return t.allQueries * (3 + t.depth) +
         t.keys * (g.depth + g.valueDepth + t.depth) +
         t.ofRow * (t.depth + t.valueDepth) +
         kQueryBlock *
             (g.depth + g.valueDepth + t.depth + t.valueDepth + 2 * t.ofRow) +
         15 * 16;
}

#define DLC_ATTENTION_LOOPS(T)                                                 \
  DLC_MULTIVERSION void attention(const AttentionGeometry &g,                  \
                                  const AttentionMask &mask, const T *q,       \
                                  const T *k, const T *v, T *y, float *lse,    \
                                  int64_t begin, int64_t end, float *memory) { \
    forward(g, mask, q, k, v, y, lse, begin, end, memory);                     \
  }                                                                            \
  DLC_MULTIVERSION void attentionBackward(                                     \
      const AttentionGeometry &g, const AttentionMask &mask, const T *dy,      \
      const T *q, const T *k, const T *v, const T *y, const float *lse, T *dq, \
      T *dk, T *dv, float *memory) {                                           \
    const Tensors<T> x{dy, q, k, v, y, lse, dq, dk, dv};                       \
    Backward<T>(g, mask, x, memory).run();                                     \
  }
DLC_ATTENTION_LOOPS(float)
DLC_ATTENTION_LOOPS(Bf16)
DLC_ATTENTION_LOOPS(F16)

} // namespace dlc
