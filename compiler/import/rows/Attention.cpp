// SPDX-License-Identifier: Apache-2.0
// Attention of ai.onnx 23 and newer: one op, or separate ops if it has a
// softcap, a mask with a gradient, or scores as a result.
#include "compiler/import/rows/Bodies.h"
#include "compiler/import/rows/Build.h"
#include "compiler/import/tensor/DataType.h"
#include <cmath>

using namespace mlir;

namespace dlc::import {
namespace attentions {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// Q, K and V: [B, H, T, D], or [B, T, H, D] if `isFlat`.
struct Heads {
  Value q, k, v;
  bool isFlat = false;
  int64_t steps(Value x) const { return shapeOf(x)[isFlat ? 1 : 2]; }
};

/// Reshapes [B, T, heads * D] to [B, T, heads, D]; reports an error and returns
/// null if it does not fit.
Value splitHeads(const Node &n, Value x, const char *count) {
  const int64_t heads = n.integer(count, 0);
  Shape shape = shapeOf(x);
  if (heads < 1 || shape[2] % heads != 0) {
    n.fail("{} is {}, found an input of shape {}", count, heads, shape);
    return nullptr;
  }
  return n.reshape(x, {shape[0], shape[1], heads, shape[2] / heads});
}

FailureOr<Heads> headsOf(const Node &n) {
  Heads h{n.in(0), n.in(1), n.in(2)};
  if (!h.q || !h.k || !h.v)
    return failure();
  const size_t rank = shapeOf(h.q).size();
  if ((rank != 3 && rank != 4) || shapeOf(h.k).size() != rank ||
      shapeOf(h.v).size() != rank)
    return n.fail("expected Q, K and V of rank 3 or 4, found {}, {} and {}",
                  shapeOf(h.q), shapeOf(h.k), shapeOf(h.v));
  if (rank == 3) {
    h = {splitHeads(n, h.q, "q_num_heads"), splitHeads(n, h.k, "kv_num_heads"),
         splitHeads(n, h.v, "kv_num_heads"), true};
    if (!h.q || !h.k || !h.v)
      return failure();
  }
  const int at = rank == 3 ? 2 : 1;
  if (shapeOf(h.k)[at] == 0 || shapeOf(h.q)[at] % shapeOf(h.k)[at] != 0)
    return n.fail("Attention with {} heads of queries and {} of keys is not "
                  "supported, expected a multiple",
                  shapeOf(h.q)[at], shapeOf(h.k)[at]);
  return h;
}

Value swapped(const Node &n, Value x) { return n.transpose(x, {0, 2, 1, 3}); }

/// Transposes to [B, H, T, D] if `isFlat`.
void putHeadsFirst(const Node &n, Heads &h) {
  if (h.isFlat)
    h = {swapped(n, h.q), swapped(n, h.k), swapped(n, h.v)};
}

/// [B, H, T, D] with each head repeated `times` times.
Value repeated(const Node &n, Value x, int64_t times) {
  if (!x || times == 1)
    return x;
  Shape s = shapeOf(x);
  Value y = n.broadcast(n.reshape(x, {s[0], s[1], 1, s[2], s[3]}),
                        {s[0], s[1], times, s[2], s[3]});
  return n.reshape(y, {s[0], s[1] * times, s[2], s[3]});
}

/// Appends keys and values to those of the cache; both are results, too.
LogicalResult addPast(const Node &n, Heads &h) {
  if (n.has(4) != n.has(5))
    return n.fail("past_key and past_value must be given together");
  for (auto [i, x] : {std::pair(0, &h.k), std::pair(1, &h.v)}) {
    if (n.has(4 + i))
      *x = n.make<ir::ConcatOp>(ValueRange({n.in(4 + i), *x}), uint64_t(2));
    DLC_CHECK(n.result(1 + i, *x));
  }
  return success();
}

/// Repeats heads of keys and values for grouped queries.
LogicalResult spreadGroups(const Node &n, Heads &h) {
  const int64_t groups = shapeOf(h.q)[1] / shapeOf(h.k)[1];
  h.k = repeated(n, h.k, groups);
  h.v = repeated(n, h.v, groups);
  return success(h.k && h.v);
}

/// A conjunction of masks, each of which may be missing.
using Mask = std::optional<Expr>;
Mask both(Mask a, Mask b) { return a && b ? ir::both(*a, *b) : a ? a : b; }

/// Keys that a query attends to by position: [1 or B, 1, Tq, Tk]; nullopt for
/// all.
FailureOr<Mask> placesSeen(const Node &n, int64_t queries, int64_t keys) {
  const bool causal = n.integer("is_causal", 0);
  const int64_t left = n.integer("left_window_size", -1);
  const int64_t right = n.integer("right_window_size", -1);
  const Shape shape{1, 1, queries, keys};
  Expr key = iota(n, shape, 3), place = iota(n, shape, 2);
  Mask seen;
  if (n.has(4))
    place = place + double(n.shape(4)[2]);
  if (n.has(6)) {
    DLC_GET(auto given, input(n, 6));
    Expr length = given.cast(n.b.getI64Type());
    length = length.reshape({length.shape()[0], 1, 1, 1});
    seen = key < length;
    if (!n.has(4))
      place = place + (length - double(queries));
  }
  Expr behind = place - key; // distance of a key before its query
  if (causal)
    seen = both(seen, behind >= 0);
  if (left >= 0)
    seen = both(seen, behind <= left);
  if (right >= 0)
    seen = both(seen, behind >= -right);
  return seen;
}

bool isBool(Value x) { return ir::elementType(x).isInteger(1); }

/// attn_mask as [B or 1, H or 1, Tq or 1, Tk]; keys that it lacks are masked.
FailureOr<Value> givenMask(const Node &n, int64_t keys) {
  if (!n.has(3))
    return Value();
  DLC_GET(Value mask, n.in(3));
  Shape shape = shapeOf(mask);
  if (shape.empty() || shape.size() > 4)
    return n.fail("attn_mask has shape {}, expected 1 to 4 dimensions", shape);
  while (shape.size() < 4)
    shape.insert(shape.begin(), 1);
  mask = n.reshape(mask, shape);
  if (shape[3] == 1 || shape[3] >= keys)
    return mask;
  return padded(n.expr(mask), 3, 0, keys - shape[3], isBool(mask) ? 0 : -kInf)
      .v;
}

/// Combines the mask with the position mask, either of which may be null.
Value maskOf(const Node &n, Value given, Mask seen) {
  if (!given || !seen)
    return given ? given : seen ? seen->v : Value();
  return isBool(given)
             ? n.make<ir::AndOp>(given, seen->v)
             : n.make<ir::SelectOp>(seen->v, given, n.constant(-kInf, given));
}

/// Whether the float mask may depend on trained values; true if the search is
/// too long.
bool isMoved(Value mask) {
  constexpr size_t kMost = 64;
  SmallVector<Value> todo{mask};
  for (size_t i = 0; i < todo.size(); ++i) {
    Operation *op = todo[i].getDefiningOp();
    if (!op || !isa<FloatType>(ir::elementType(todo[i])))
      continue;
    if (auto read = dyn_cast<ir::ReadOp>(op)) {
      auto state = op->getParentOfType<ModuleOp>().lookupSymbol<ir::StateOp>(
          read.getState());
      if (!state || state.getTrainable())
        return true;
    }
    todo.append(op->operand_begin(), op->operand_end());
    if (todo.size() > kMost)
      return true;
  }
  return false;
}

double scaleOf(const Node &n, Value q) {
  const double given = n.number("scale", 0);
  return given != 0 ? given : 1 / std::sqrt(double(shapeOf(q).back()));
}

Value fused(const Node &n, const Heads &h, Value mask, bool causal) {
  Operation *op = n.makeOp<ir::AttentionOp>(2, h.q, h.k, h.v, mask,
                                            llvm::APFloat(scaleOf(n, h.q)),
                                            causal, h.isFlat ? "bthd" : "bhtd");
  return op ? op->getResult(0) : Value();
}

/// Q K^T, each multiplied by the root of the scale.
Value scoresOf(const Node &n, const Heads &h) {
  const double root = std::sqrt(scaleOf(n, h.q));
  return n.matmul(n.expr(h.q) * root,
                  transposed(n.expr(h.k), {0, 1, 3, 2}) * root);
}

/// Attention as products and a softmax, with the scores as a result according
/// to qk_matmul_output_mode.
FailureOr<Value> writtenOut(const Node &n, const Heads &h, Value mask) {
  DLC_GET(Value products, scoresOf(n, h));
  Expr scores = n.expr(products), shown = scores;
  const int64_t mode = n.integer("qk_matmul_output_mode", 0);
  if (const double cap = n.number("softcap", 0); cap > 0) {
    scores = tanh(scores / cap) * cap;
    shown = mode == 0 ? shown : scores;
  }
  if (mask && isBool(mask))
    mask = select(n.expr(mask), scores.scalar(0), scores.scalar(-kInf));
  if (mask) {
    DLC_GET(Value sum, n.make<ir::AddOp>(scores.v, mask));
    scores = n.expr(sum);
  }
  Expr p = scores.make<ir::SoftmaxOp>(scores.v, uint64_t(3));
  if (mask) // 0 for queries whose keys are all masked
    p = select(n.expr(mask).max({3}, true) == -kInf, 0, p);
  if (mode >= 2)
    shown = mode == 2 ? scores : p;
  if (n.uses(3))
    DLC_CHECK(n.result(3, shown));
  return n.matmul(p, h.v);
}

/// Whether some keys are masked by position.
bool hasPlaces(const Node &n) {
  return n.has(4) || n.has(6) || n.integer("left_window_size", -1) >= 0 ||
         n.integer("right_window_size", -1) >= 0;
}

bool needsScores(const Node &n) {
  return n.number("softcap", 0) > 0 || n.uses(3);
}

/// Transposes heads only if an operation requires [B, H, T, D].
LogicalResult arrange(const Node &n, Heads &h) {
  const int at = h.isFlat ? 2 : 1;
  if (!hasPlaces(n) && !needsScores(n) && !n.uses(1) && !n.uses(2) &&
      shapeOf(h.q)[at] == shapeOf(h.k)[at])
    return success();
  putHeadsFirst(n, h);
  return success(h.q && h.k && h.v && succeeded(addPast(n, h)) &&
                 succeeded(spreadGroups(n, h)));
}

LogicalResult attention(const Node &n) {
  DLC_GET(auto heads, headsOf(n));
  Heads h = heads;
  const bool isFlat = h.isFlat;
  DLC_CHECK(arrange(n, h));
  const int64_t queries = h.steps(h.q), keys = h.steps(h.k);
  DLC_GET(auto given, givenMask(n, keys));
  const bool isOut = needsScores(n) || (given && isMoved(given));
  if (isOut)
    putHeadsFirst(n, h);
  const bool byOp = !isOut && !hasPlaces(n);
  DLC_GET(auto seen,
          byOp ? FailureOr<Mask>(Mask()) : placesSeen(n, queries, keys));
  Value mask = maskOf(n, given, seen);
  auto made = isOut ? writtenOut(n, h, mask)
                    : fused(n, h, mask, byOp && n.integer("is_causal", 0));
  DLC_GET(Value y, made);
  if (!y || !isFlat)
    return n.result(y);
  if (!h.isFlat)
    y = swapped(n, y);
  Shape shape = shapeOf(y);
  return n.result(n.reshape(y, {shape[0], shape[1], shape[2] * shape[3]}));
}

/// Applies the node's subgraph `name` to x, if present.
FailureOr<Value> modified(const Node &n, Value x, const char *name) {
  const auto *attribute = n.find(name);
  if (!attribute || !x)
    return x;
  const auto &graph = attribute->g();
  if (!attribute->has_g() || graph.input_size() != 1 ||
      graph.output_size() != 1)
    return n.fail("{} is expected to be a graph of one input and one output",
                  name);
  BodyExpander e(n);
  const std::string prefix = e.label + "/" + name;
  const std::string &inside = graph.input(0).name();
  const std::string given = n.table.unusedName(prefix + "/" + inside);
  n.table.define(given, x);
  n.table.use(given);
  DLC_GET(auto results, e.run(graph, prefix, {{inside, given}}));
  Value y = n.table.value(results.front(), n.loc);
  if (!y || shapeOf(y) != shapeOf(x))
    return n.fail("{} is expected to give a tensor of shape {}{}", name,
                  shapeOf(x), (y ? ", found " + toString(shapeOf(y)) : ""));
  return n.cast(y, ir::elementType(x));
}

/// The type of scores and probabilities.
FailureOr<Type> precisionOf(const Node &n, Type given) {
  if (!n.has("softmax_precision"))
    return ir::isHalf(given) ? n.b.getF32Type() : given;
  const int64_t asked = n.integer("softmax_precision", 0);
  auto dtype = toDType(int(asked));
  if (!dtype || !isFloat(*dtype) || isNarrow(int(asked)))
    return n.fail("softmax_precision {} is not supported, expected a float of "
                  "16 bits or more",
                  onnxTypeName(int(asked)));
  return toMlir(*dtype, n.b.getContext());
}

/// FlexAttention of ai.onnx.preview: subgraphs modify scores and probabilities.
LogicalResult flexAttention(const Node &n) {
  for (size_t i = 0; i < 3; ++i)
    if (Value x = n.in(i); !x || shapeOf(x).size() != 4)
      return x ? n.fail("expected Q, K and V of rank 4, found {}", shapeOf(x))
               : failure();
  DLC_GET(auto heads, headsOf(n));
  Heads h = heads;
  const Type type = ir::elementType(h.q);
  DLC_GET(auto precision, precisionOf(n, type));
  DLC_CHECK(spreadGroups(n, h));
  if (!n.has("score_mod") && !n.has("prob_mod") && !ir::isHalf(precision))
    return n.result(fused(n, h, Value(), false));
  DLC_GET(Value scores, scoresOf(n, h));
  DLC_GET(auto bent, modified(n, n.cast(scores, precision), "score_mod"));
  DLC_GET(auto p,
          modified(n, n.make<ir::SoftmaxOp>(bent, uint64_t(3)), "prob_mod"));
  return n.result(n.cast(n.matmul(p, n.cast(h.v, precision)), type));
}

/// Rotates each pair: the first element becomes (cos, -sin) times the pair, the
/// second (sin, cos). Pairs are adjacent (interleaved) or half the width apart.
Expr turned(Expr x, Expr cos, Expr sin, bool interleaved) {
  const Shape s = shapeOf(x);
  const int64_t axis = interleaved ? 4 : 3;
  Shape split = s;
  split.back() /= 2;
  split.insert(split.begin() + axis, 2);
  Expr pairs = x.reshape(split);
  Expr a = sliceOf(pairs, axis, 0), b = sliceOf(pairs, axis, 1);
  Expr real = cos * a - sin * b, imaginary = sin * a + cos * b;
  return joined({unsqueezed(real, axis), unsqueezed(imaginary, axis)}, axis)
      .reshape(s);
}

/// cos or sin as [B or 1, T, 1, half], gathered at positions [B, T] if given.
FailureOr<Expr> angles(const Node &n, Value table, Value positions) {
  if (table && positions) {
    positions = n.cast(positions, n.b.getI64Type());
    DLC_GET(table,
            n.make<ir::GatherOp>(table, positions, uint64_t(0), IntegerAttr()));
  }
  if (!table)
    return failure();
  Shape s = shapeOf(table);
  if (s.size() == 2)
    s.insert(s.begin(), 1);
  if (s.size() != 3)
    return n.fail("expected tables of rank 2 or 3, found {}", s);
  return n.expr(table).reshape({s[0], s[1], 1, s[2]});
}

/// Reshapes [B, T, H * D] to [B, T, H, D]. If the number of heads is not given,
/// D is `width`, that of the tables.
Value headsToTurn(const Node &n, Value x, int64_t width) {
  const Shape s = shapeOf(x);
  if (n.integer("num_heads", 0) || n.integer("rotary_embedding_dim", 0) ||
      width < 1 || s[2] % width)
    return splitHeads(n, x, "num_heads");
  return n.reshape(x, {s[0], s[1], s[2] / width, width});
}

/// X [B, H, T, D] or [B, T, H * D].
LogicalResult rotaryEmbedding(const Node &n) {
  Value positions = n.has(3) ? n.in(3) : Value(), sinTable = n.in(2),
        cosTable = n.in(1);
  DLC_GET(Value given, n.in(0));
  const Shape shape = shapeOf(given);
  if (shape.size() != 3 && shape.size() != 4)
    return n.fail("expected an input of rank 3 or 4, found {}", shape);
  const bool isFlat = shape.size() == 3;
  DLC_GET(auto cos, angles(n, cosTable, positions));
  DLC_GET(auto sin, angles(n, sinTable, positions));
  DLC_GET(Value heads, isFlat ? headsToTurn(n, given, 2 * cos.shape().back())
                              : swapped(n, given));
  Expr x = n.expr(heads);
  const int64_t some = n.integer("rotary_embedding_dim", 0),
                size = x.shape().back(), width = some ? some : size;
  if (width > size || width % 2 || cos.shape().back() != width / 2)
    return n.fail(
        "turning {} of {} numbers of a head needs tables of {}, found {}",
        width, size, width / 2, cos.shape().back());
  Shape half = shapeOf(x);
  half.back() = width / 2;
  for (Expr table : {cos, sin})
    if (!broadcastsTo(shapeOf(table), half))
      return n.fail("tables of shape {} do not fit to an input of shape {}",
                    shapeOf(table), shape);
  Expr y = turned(part(x, 3, 0, width), cos, sin, n.integer("interleaved", 0));
  if (width < size)
    y = joined({y, part(x, 3, width, size - width)}, 3);
  return n.result(isFlat ? y.reshape(shape) : transposed(y, {0, 2, 1, 3}));
}

} // namespace
} // namespace attentions

void addAttentionRows(Rows &rows) {
  rows["Attention"] = attentions::attention;
  rows["ai.onnx.preview.FlexAttention"] = attentions::flexAttention;
  rows["RotaryEmbedding"] = attentions::rotaryEmbedding;
}

} // namespace dlc::import
