// SPDX-License-Identifier: Apache-2.0
// The loops of AttentionLoops.h for elements of any type. AttentionLoops.cpp
// includes this file once for each kind of CPU.
#include "runtime/device/cpu/kernels/Lanes.h"

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int64_t kQueryBlock = 48;
constexpr int64_t kMostKeys = 240; // per tile: scores fit into the L2 cache
constexpr int64_t kWhole = std::lcm(Block::kRows, Block::kColumns);
static_assert(kQueryBlock % Block::kRows == 0);

// Sizes of the arrays in a thread's memory; they depend only on the shape.
struct Tiling {
  explicit Tiling(const AttentionGeometry &g)
      : keys(roundUp((g.keys + tilesOf(g) - 1) / tilesOf(g), Block::kColumns)),
        ofRow(roundUp(keys, kWhole)), depth(roundUp(g.depth, Block::kColumns)),
        valueDepth(roundUp(g.valueDepth, Block::kColumns)),
        allQueries(roundUp(g.queries, kQueryBlock)) {}
  static int64_t tilesOf(const AttentionGeometry &g) {
    return std::max<int64_t>(1, (g.keys + kMostKeys - 1) / kMostKeys);
  }

  int64_t keys;  // per tile
  int64_t ofRow; // row length of scores and of gradients of a tile
  int64_t depth, valueDepth, allQueries;
};

// Allocates arrays in a thread's memory.
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

// Keys [begin, begin + count) for a block of queries [first, first + rows).
struct Span {
  DLC_INLINE Span(const AttentionGeometry &g, int64_t first, int64_t end,
                  int64_t begin, int64_t keys)
      : first(first), rows(std::min(kQueryBlock, end - first)), begin(begin),
        causal(g.causal),
        count(std::clamp<int64_t>(
            (causal ? std::min(first + rows, g.keys) : g.keys) - begin, 0,
            keys)) {}

  // Number of leading keys of the tile that row i of the block attends to.
  DLC_INLINE int64_t seen(int64_t i) const {
    return causal ? std::clamp<int64_t>(first + i + 1 - begin, 0, count)
                  : count;
  }
  // The largest number for a row of the register block that begins at row i.
  DLC_INLINE int64_t seenByBlock(int64_t i) const {
    return seen(i + Block::kRows - 1);
  }
  // Number of scores computed for row i, rounded up to vectors.
  DLC_INLINE int64_t columns(int64_t i) const {
    return roundUp(seenByBlock(i / Block::kRows * Block::kRows), kLanes);
  }
  // The first row that attends to key j of the tile.
  DLC_INLINE int64_t firstRow(int64_t j) const {
    return causal ? std::clamp<int64_t>(begin + j - first, 0, rows) : 0;
  }

  const int64_t first, rows, begin;
  const bool causal;
  const int64_t count;
};

// Adds the mask and sets to -inf the scores of keys that row `i` of the block
// does not attend to.
void maskRow(const AttentionMask &mask, const Span &span, int64_t i,
             float *scores) {
  const int64_t seen = span.seen(i);
  if (mask.data) {
    const float *const row =
        mask.data + (span.first + i) * mask.ofQuery + span.begin * mask.ofKey;
    for (int64_t j = 0; j < seen; ++j)
      scores[j] += row[j * mask.ofKey];
  }
  for (int64_t j = seen; j < span.columns(i); ++j)
    scores[j] = -kInfinity;
}

// Matrix products for scores [rows, keys] that skip fully masked parts: the
// scores, with depth `inner`; sums over keys; sums over queries.
void multiplyForScores(const Span &span, const float *rows, const float *keys,
                       int64_t inner, float *to, int64_t ofRow) {
  multiply<false>(
      {rows, inner, 1}, keys, inner * Block::kColumns, span.rows, span.count,
      [&](int64_t i, int64_t j) {
        return InnerRange{0, j < span.seenByBlock(i) ? inner : 0};
      },
      to, ofRow);
}
void sumOverKeys(const Span &span, const float *scores, int64_t ofRow,
                 const float *panels, int64_t ofPanel, int64_t columns,
                 float *to) {
  multiply<true>(
      {scores, ofRow, 1}, panels, ofPanel, span.rows, columns,
      [&](int64_t i, int64_t) {
        return InnerRange{0, span.seenByBlock(i)};
      },
      to, columns);
}
void sumOverQueries(const Span &span, const float *scores, int64_t ofRow,
                    const float *panels, int64_t columns, float *to) {
  multiply<true>(
      {scores, 1, ofRow}, panels, kQueryBlock * Block::kColumns, span.count,
      columns,
      [&](int64_t j, int64_t) {
        return InnerRange{span.firstRow(j), span.rows};
      },
      to, columns);
}

DLC_INLINE void keepLarger(const Lanes &next, Lanes &most) {
  most = (next > most) | (next != next) ? next : most;
}

// The largest element; NaN if there is one.
DLC_INLINE float largest(const float *x, int64_t count) {
  Lanes most = Lanes{} - kInfinity, next;
  for (int64_t j = 0; j < count; j += kLanes) {
    read(x + j, next);
    keepLarger(next, most);
  }
  float lanes[2 * kLanes] = {};
#pragma GCC unroll 4
  for (int n = kLanes / 2; n > 0; n /= 2) { // without branches
    write(most, lanes);
    read(lanes + n, next);
    keepLarger(next, most);
  }
  return most[0];
}

// x = e^(x - shift); returns the sum.
DLC_INLINE float exponentials(float *x, int64_t count, float shift) {
  Lanes total{}, next;
  for (int64_t j = 0; j < count; j += kLanes) {
    read(x + j, next);
    next -= shift;
    exponential(next);
    write(next, x + j);
    total += next;
  }
  return sum(total);
}

// Copies the block's rows of a matrix, padded to a register block with zeros.
template <class T>
void copyRows(const T *from, int64_t stride, const Span &span, int64_t columns,
              float factor, float *to) {
  for (int64_t i = 0; i < span.rows; ++i, to += columns) {
    const int64_t row = span.first + i;
    prefetchRow<false>(from, (row + kRowsAhead) * stride, columns);
    for (int64_t j = 0; j < columns; ++j)
      to[j] = load(from[row * stride + j]) * factor;
  }
  std::fill_n(to, (roundUp(span.rows, Block::kRows) - span.rows) * columns,
              0.f);
}

template <class T>
DLC_INLINE void storeRow(const float *from, int64_t columns, float factor,
                         T *to) {
  for (int64_t j = 0; j < columns; ++j)
    store(to[j], from[j] * factor);
}

// The state of an online softmax for a block of queries: the largest score of
// each row so far, and the sum of e^(score - largest).
struct RowSums {
  float *most, *total;

  DLC_INLINE void clear(int64_t rows) {
    for (int64_t i = 0; i < rows; ++i)
      most[i] = -kInfinity, total[i] = 0;
  }
  // Adds a row's scores of one more tile, which are replaced by their
  // exponentials. Returns the factor by which earlier sums must be scaled.
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
void forward(const AttentionGeometry &g, const AttentionMask &mask, const T *q,
             const T *k, const T *v, T *y, float *lse, int64_t begin,
             int64_t end, float *memory) {
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
    rows.clear(kQueryBlock);
    std::fill_n(sums, kQueryBlock * t.valueDepth, 0.f);
    for (int64_t at = 0; at < seen; at += t.keys) {
      const Span span(g, first, end, at, t.keys);
      if (span.count == 0)
        break;
      if (at == 0)
        copyRows(q, g.stride, span, g.depth, g.scale, queries);
      multiplyForScores(span, queries, kt + at * g.depth, g.depth, scores,
                        t.ofRow);
      for (int64_t i = 0; i < span.rows; ++i) {
        maskRow(mask, span, i, scores + i * t.ofRow);
        const float kept = rows.add(i, scores + i * t.ofRow, span.columns(i));
        if (kept != 1)
          for (int64_t j = 0; j < t.valueDepth; ++j)
            sums[i * t.valueDepth + j] *= kept;
      }
      sumOverKeys(span, scores, t.ofRow, vp + at * t.valueDepth,
                  t.keys * Block::kColumns, t.valueDepth, sums);
    }
    for (int64_t i = 0; i < std::min(kQueryBlock, end - first); ++i) {
      const float total = rows.total[i];
      prefetchRow<true>(y, (first + i + kRowsAhead) * g.outStride,
                        g.valueDepth);
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

// The gradient of one head: for each tile of keys, all blocks of queries.
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
    for (int64_t i = 0; i < g.queries; ++i) {
      prefetchRow<true>(x.dq, (i + kRowsAhead) * g.stride, g.depth);
      storeRow(dq + i * t.depth, g.depth, g.scale, x.dq + i * g.stride);
    }
  }

private:
  // Computes sum(dy * y) of each row.
  DLC_INLINE void findDeltas() {
    for (int64_t i = 0; i < g.queries; ++i) {
      const int64_t row = i * g.outStride,
                    ahead = row + kRowsAhead * g.outStride;
      prefetchRow<false>(x.dy, ahead, g.valueDepth);
      prefetchRow<false>(x.y, ahead, g.valueDepth);
      deltas[i] = dot(x.dy + row, x.y + row, g.valueDepth);
    }
  }

  // Computes shift and factor of each row, with which the weight of a key is
  // factor * e^(score - shift): lse and 1. With a mask, scores may be so low
  // that lse cannot represent the logarithm of the sum; then they are
  // recomputed.
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
        const Span span(g, first, g.queries, at, t.keys);
        copyRows(x.q, g.stride, span, g.depth, g.scale, queries);
        scoresOf(span);
        for (int64_t i = 0; i < span.rows; ++i)
          rows.add(first + i, p + i * t.ofRow, span.columns(i));
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

  // p = the masked scores of a block of queries.
  DLC_INLINE void scoresOf(const Span &span) {
    multiplyForScores(span, queries, kt, g.depth, p, t.ofRow);
    for (int64_t i = 0; i < span.rows; ++i)
      maskRow(mask, span, i, p + i * t.ofRow);
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
      runBlock({g, first, g.queries, at, t.keys});
    for (int64_t i = 0; i < count; ++i) {
      const int64_t ahead = at + i + kRowsAhead;
      prefetchRow<true>(x.dk, ahead * g.stride, g.depth);
      prefetchRow<true>(x.dv, ahead * g.valueStride, g.valueDepth);
      storeRow(dk + i * t.depth, g.depth, 1, x.dk + (at + i) * g.stride);
      storeRow(dv + i * t.valueDepth, g.valueDepth, 1,
               x.dv + (at + i) * g.valueStride);
    }
  }

  DLC_INLINE void runBlock(const Span &span) {
    copyRows(x.q, g.stride, span, g.depth, g.scale, queries);
    copyRows(x.dy, g.outStride, span, g.valueDepth, 1, dys);
    packPanels(queries, g.depth, span.rows, g.depth, 1, qp,
               kQueryBlock * Block::kColumns);
    packPanels(dys, g.valueDepth, span.rows, g.valueDepth, 1, dyp,
               kQueryBlock * Block::kColumns);
    scoresOf(span);
    multiplyForScores(span, dys, vt, g.valueDepth, ds, t.ofRow);
    for (int64_t i = 0; i < span.rows; ++i)
      gradientRow(span, i, p + i * t.ofRow, ds + i * t.ofRow);
    sumOverQueries(span, p, t.ofRow, dyp, t.valueDepth, dv);
    sumOverQueries(span, ds, t.ofRow, qp, t.depth, dk);
    sumOverKeys(span, ds, t.ofRow, kp, t.keys * Block::kColumns, t.depth,
                dq + span.first * t.depth);
  }

  // Replaces a row of scores by weights, and the gradient of the weights by
  // that of the scores; writes zeros where a register block of keys reads
  // beyond the row.
  DLC_INLINE void gradientRow(const Span &span, int64_t i, float *weights,
                              float *gradients) {
    const int64_t query = span.first + i, columns = span.columns(i);
    const float shift = shifts[query], factor = factors[query],
                delta = deltas[query];
    Lanes weight, gradient;
    for (int64_t j = 0; j < columns; j += kLanes) {
      read(weights + j, weight);
      read(gradients + j, gradient);
      weight -= shift;
      exponential(weight);
      weight *= factor;
      write(weight, weights + j);
      write(weight * (gradient - delta), gradients + j);
    }
    const int64_t end =
        std::min(columns + Block::kRows, roundUp(span.count, Block::kRows));
    for (int64_t j = columns; j < end; ++j)
      weights[j] = gradients[j] = 0;
  }

  const AttentionGeometry &g;
  const AttentionMask &mask;
  const Tensors<T> &x;
  const Tiling t;
  Memory parts;
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

template <class T>
void backward(const AttentionGeometry &g, const AttentionMask &mask,
              const T *dy, const T *q, const T *k, const T *v, const T *y,
              const float *lse, T *dq, T *dk, T *dv, float *memory) {
  Backward<T>(g, mask, {dy, q, k, v, y, lse, dq, dk, dv}, memory).run();
}

int64_t forwardFloats(const AttentionGeometry &g) {
  const Tiling t(g);
  const int64_t allKeys = Tiling::tilesOf(g) * t.keys;
  return kQueryBlock * (g.depth + t.ofRow + t.valueDepth + 2) +
         allKeys * (g.depth + t.valueDepth) + 7 * 16;
}

int64_t backwardFloats(const AttentionGeometry &g) {
  const Tiling t(g);
  return t.allQueries * (3 + t.depth) +
         t.keys * (g.depth + g.valueDepth + t.depth) +
         t.ofRow * (t.depth + t.valueDepth) +
         kQueryBlock *
             (g.depth + g.valueDepth + t.depth + t.valueDepth + 2 * t.ofRow) +
         15 * 16;
}

template <class T>
constexpr AttentionLoops<T> kLoops = {kQueryBlock, forwardFloats,
                                      backwardFloats, forward<T>, backward<T>};
