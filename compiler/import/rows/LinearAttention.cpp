// SPDX-License-Identifier: Apache-2.0
// Linear attention, whose steps update a state. Computed in chunks of steps:
// products of all pairs within a chunk, and the state between chunks, so that
// the graph grows with the number of chunks, not of steps (Yang et al. 2024,
// "Parallelizing Linear Transformers with the Delta Rule over Sequence
// Length").
#include "compiler/import/rows/Build.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;

namespace dlc::import {
namespace linear_attention {
namespace {

/// Operands [B, H, T, ...], in f32 or wider. Gated states are multiplied by
/// exp(decay); a delta rule writes beta times the difference to the stored
/// value.
struct LinearAttention {
  int64_t batch, steps, heads, groups, keys, values;
  std::optional<Expr> q = {}, k = {}, v = {}, decay = {}, beta = {};
};

/// A' B and A B'.
Expr productA(const Expr &a, const Expr &b) { return matmul(a, b, true); }
Expr productB(const Expr &a, const Expr &b) {
  return matmul(a, b, false, true);
}

/// Input `i`, [B, T, heads * D], reshaped to [B, heads, T, D].
FailureOr<Expr> byHead(const Node &n, size_t i, int64_t heads) {
  DLC_GET(auto x, input(n, i));
  const Shape s = shapeOf(x);
  if (s.size() != 3 || s[2] % heads != 0 || s[1] < 1)
    return n.fail("input {} has shape {}, expected [batch, steps, {} * size]",
                  i, s, heads);
  return transposed(ir::wide(x).reshape({s[0], s[1], heads, s[2] / heads}),
                    {0, 2, 1, 3});
}

/// Decay is per head or per key, beta per head or shared.
LogicalResult addGates(const Node &n, LinearAttention &l) {
  if (n.has(4)) {
    DLC_GET(l.decay, byHead(n, 4, l.heads));
    const bool isPerHead = l.decay->shape()[3] == 1;
    DLC_CHECK(checkInputShape(
        n, 4, "decay",
        {l.batch, l.steps, isPerHead ? l.heads : l.heads * l.keys}));
  }
  if (n.has(5)) {
    const bool isShared = n.shape(5).size() == 3 && n.shape(5)[2] == 1;
    DLC_GET(l.beta, byHead(n, 5, isShared ? 1 : l.heads));
    DLC_CHECK(
        checkInputShape(n, 5, "beta", {l.batch, l.steps, l.beta->shape()[1]}));
  }
  return success();
}

FailureOr<LinearAttention> linearAttentionOf(const Node &n) {
  const int64_t queries = n.integer("q_num_heads", 0);
  const int64_t heads = n.integer("kv_num_heads", 0);
  DLC_GET(const auto rule,
          n.choice("update_rule", "gated_delta",
                   {"linear", "gated", "delta", "gated_delta"}));
  const bool isGated = rule.starts_with("gated");
  const bool isDelta = rule.ends_with("delta");
  if (heads < 1 || queries < 1 || queries % heads)
    return n.fail("q_num_heads is {} and kv_num_heads {}, expected a multiple",
                  queries, heads);
  if (isGated != n.has(4) || isDelta != n.has(5))
    return n.fail(
        "update_rule '{}' has {} decay and {} beta, found inputs that differ",
        rule, isGated ? "a" : "no", isDelta ? "a" : "no");
  DLC_GET(auto q, byHead(n, 0, queries));
  DLC_GET(auto k, byHead(n, 1, heads));
  DLC_GET(auto v, byHead(n, 2, heads));
  const Shape sk = shapeOf(k), sv = shapeOf(v);
  LinearAttention l{sk[0], sk[2], heads, queries / heads, sk[3], sv[3]};
  if (shapeOf(q) != Shape{sk[0], queries, sk[2], sk[3]} ||
      sv != Shape{sk[0], heads, sk[2], sv[3]})
    return n.fail("query, key and value have the shapes {}, {} and {}, which "
                  "do not fit together",
                  n.shape(0), n.shape(1), n.shape(2));
  // Queries of a head are grouped.
  l.q = transposed(q.reshape({l.batch, heads, l.groups, l.steps, l.keys}),
                   {0, 1, 3, 2, 4});
  l.k = k;
  l.v = v;
  DLC_CHECK(addGates(n, l));
  return l;
}

/// Without decay or delta rule: all steps at once, like attention.
Value allAtOnce(const Node &n, const LinearAttention &l, Expr state) {
  const int64_t rows = l.steps * l.groups;
  Expr q = l.q->reshape({l.batch, l.heads, rows, l.keys});
  Expr scores =
      productB(q, *l.k).reshape({l.batch, l.heads, l.steps, l.groups, l.steps});
  Expr query = iota(n, {1, 1, l.steps, 1, 1}, 2);
  Expr key = iota(n, {1, 1, 1, 1, l.steps}, 4);
  scores = select(key <= query, scores, 0);
  Expr y = matmul(scores.reshape({l.batch, l.heads, rows, l.steps}), *l.v);
  if (n.has(3))
    y = y + matmul(q, state);
  return y.reshape({l.batch, l.heads, l.steps, l.groups, l.values}).v;
}

/// `count` chunks of `size` steps, with dimensions [batch, heads * count, size,
/// ...]. The last chunk is padded with steps that write nothing.
struct Chunks {
  const Node &n;
  const LinearAttention &l;
  int64_t size, count, all;
  Expr q, k, v;                    // q [B, M, size, groups, K]
  std::optional<Expr> total, beta; // of decays since the chunk's start

  Chunks(const Node &n, const LinearAttention &l, int64_t size)
      : n(n), l(l), size(size), count(llvm::divideCeil(l.steps, size)),
        all(l.heads * count), q(cut(*l.q)), k(cut(*l.k)), v(cut(*l.v)) {
    if (l.decay)
      total = summedUp(cut(*l.decay));
    if (l.beta)
      beta = cut(l.beta->broadcast({l.batch, l.heads, l.steps, 1}));
  }

  Expr cut(Expr x) const {
    Shape shape = shapeOf(x);
    x = padded(x, 2, 0, count * size - l.steps);
    shape[1] = all;
    shape[2] = size;
    return x.reshape(shape);
  }

  /// Inclusive prefix sums, by doubling.
  Expr summedUp(Expr x) const {
    for (int64_t by = 1; by < size; by *= 2)
      x = x + padded(part(x, 2, 0, size - by), 2, by, 0);
    return x;
  }

  /// rows [B, M, size, R, K] times the keys of earlier steps, and their own if
  /// `withOwn`, with decay: [B, M, size, R, size]. Later keys are masked before
  /// exp, which could overflow.
  Expr scores(const Expr &rows, bool withOwn) const {
    const int64_t width = rows.shape()[3];
    auto order = withOwn ? ir::Predicate::le : ir::Predicate::lt;
    Expr isPast = compare(order, iota(n, {1, 1, 1, 1, size}, 4),
                          iota(n, {1, 1, size, 1, 1}, 2));
    auto decayed = [&](const Expr &since, const Expr &mask) {
      return exp(select(mask, since, 0));
    };
    std::optional<Expr> y;
    if (total && total->shape()[3] > 1) { // per key
      Expr since = unsqueezed(*total, 3) - unsqueezed(*total, 2);
      Expr keys = unsqueezed(k, 2) * decayed(since, moved(isPast, 4, 3));
      y = productB(rows.reshape({l.batch, all * size, width, l.keys}),
                   keys.reshape({l.batch, all * size, size, l.keys}));
    } else {
      y = productB(rows.reshape({l.batch, all, size * width, l.keys}), k);
    }
    y = y->reshape({l.batch, all, size, width, size});
    if (total && total->shape()[3] == 1)
      y = *y * decayed(total->reshape({l.batch, all, size, 1, 1}) -
                           total->reshape({l.batch, all, 1, 1, size}),
                       isPast);
    return select(isPast, *y, y->scalar(0));
  }

  /// The inverse of 1 + x with x [B, M, size, size] strictly lower triangular,
  /// from inverses of diagonal blocks that double in size.
  Expr inverse(const Expr &x) const {
    Expr y = filled(n, {l.batch, all, size, 1, 1}, x.element(), 1);
    for (int64_t side = 1; side < size; side *= 2) {
      const int64_t pairs = size / (2 * side);
      // The blocks below the diagonal of each pair.
      Expr below = x.reshape({l.batch * all, pairs, 2 * side, pairs, 2 * side});
      below = part(part(below, 2, side, side), 4, 0, side);
      Expr isOwn =
          iota(n, {1, pairs, 1, 1, 1}, 1) == iota(n, {1, 1, 1, pairs, 1}, 3);
      below = select(isOwn, below, 0)
                  .sum({3})
                  .reshape({l.batch, all * pairs, side, side});
      Expr two = y.reshape({l.batch, all * pairs, 2, side, side});
      Expr first = sliceOf(two, 2, 0);
      Expr second = sliceOf(two, 2, 1);
      Expr corner = -matmul(second, matmul(below, first));
      Expr none = first.scalar(0).broadcast(first.shape());
      y = joined({joined({first, none}, 3), joined({corner, second}, 3)}, 2);
    }
    return y.reshape({l.batch, all, size, size});
  }

  /// Chunk `i` of [B, M, ...], as [B, H, ...].
  Expr at(const Expr &x, int64_t i) const {
    Shape shape = shapeOf(x), own = shape;
    shape.insert(shape.begin() + 2, count);
    shape[1] = own[1] = l.heads;
    return part(x.reshape(shape), 2, i, 1).reshape(own);
  }
  /// Joins [B, H, ...] of each chunk to [B, M, ...].
  Expr together(ArrayRef<Expr> chunks) const {
    Shape shape = shapeOf(chunks[0]);
    shape[1] = all;
    return stacked(chunks, 2).reshape(shape);
  }
};

/// Results of steps [B, H, T, groups, V], and the last state. With states S
/// before a chunk and prefix sums g of its decays, its steps write
///   U = (1 + beta A)^-1 beta (V - (K exp(g)) S), without a delta rule V,
/// with the scores A of keys with earlier keys; the next state is
///   exp(g_last) S + (K exp(g_last - g))^T U.
Value inChunks(const Node &n, const LinearAttention &l, Expr &state) {
  constexpr int64_t kMostSteps = 32;
  constexpr size_t kChunkBytes = 16 << 10; // import budget for its ops
  const Chunks c(n, l,
                 std::min<int64_t>(kMostSteps, llvm::PowerOf2Ceil(l.steps)));
  Status fits =
      n.table.budget().keep(size_t(c.count) * kChunkBytes,
                            "unrolling " + std::to_string(c.count) + " chunks");
  if (!fits.ok())
    return (void)n.fail(fits), nullptr;
  std::optional<Expr> shrink, writes = c.v, reads;
  Expr keys = c.k, queries = c.q, readers = c.k;
  if (c.total) {
    Expr last = part(*c.total, 2, c.size - 1, 1);
    shrink = moved(exp(last), 3, 2);
    keys = keys * exp(last - *c.total);
    readers = readers * exp(*c.total);
    queries = queries * exp(unsqueezed(*c.total, 3));
  }
  if (c.beta) {
    Expr own = squeezed(c.scores(unsqueezed(c.k, 3), false), 3);
    Expr solved = c.inverse(own * *c.beta);
    writes = matmul(solved, c.v * *c.beta);
    reads = matmul(solved, readers * *c.beta);
  }
  SmallVector<Expr> states, written;
  for (int64_t i = 0; i < c.count; ++i) {
    states.push_back(state);
    written.push_back(c.at(*writes, i));
    if (reads)
      written.back() = written.back() - matmul(c.at(*reads, i), state);
    Expr added = productA(c.at(keys, i), written.back());
    state = (shrink ? state * c.at(*shrink, i) : state) + added;
  }
  const int64_t rows = c.size * l.groups;
  Expr y = matmul(queries.reshape({l.batch, c.all, rows, l.keys}),
                  c.together(states)) +
           matmul(c.scores(c.q, true).reshape({l.batch, c.all, rows, c.size}),
                  c.together(written));
  y = y.reshape({l.batch, l.heads, c.count * c.size, l.groups, l.values});
  return part(y, 2, 0, l.steps).v;
}

LogicalResult linearAttention(const Node &n) {
  DLC_GET(auto given, linearAttentionOf(n));
  const LinearAttention &l = given;
  const Shape inner{l.batch, l.heads, l.keys, l.values};
  DLC_CHECK(checkInputShape(n, 3, "past_state", inner));
  const Type type = n.type(0).getElementType();
  Expr state = filled(n, inner, l.k->element(), 0);
  if (n.has(3)) {
    DLC_GET(auto past, input(n, 3));
    state = past.cast(state.element());
  }
  constexpr int64_t kMostSteps = 1 << 13; // scores are quadratic
  const bool isLong = l.decay || l.beta || l.steps > kMostSteps;
  Value steps = isLong ? inChunks(n, l, state) : allAtOnce(n, l, state);
  if (!isLong)
    state = state + productA(*l.k, *l.v);
  if (!steps)
    return failure();
  const double asked = n.number("scale", 0);
  Expr y = transposed(n.expr(steps), {0, 2, 1, 3, 4}) *
           (asked != 0 ? asked : 1 / std::sqrt(double(l.keys)));
  const Type kept = n.has(3) ? n.type(3).getElementType() : type;
  if (n.uses(1) && failed(n.result(1, state.cast(kept))))
    return failure();
  const int64_t width = l.heads * l.groups * l.values;
  return n.result(y.reshape({l.batch, l.steps, width}).cast(type));
}

} // namespace
} // namespace linear_attention

LogicalResult linearAttention(const Node &n) {
  return linear_attention::linearAttention(n);
}

} // namespace dlc::import
