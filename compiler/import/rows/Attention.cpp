// SPDX-License-Identifier: Apache-2.0
// Attention of ai.onnx 23 and newer: one op, or separate ops if it has a
// softcap, a mask with a gradient, or scores as a result.
#include "compiler/import/rows/Bodies.h"
#include "compiler/import/rows/Rows.h"
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
    n.fail() << count << " is " << heads << ", found an input of shape "
             << toString(shape);
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
    return n.fail() << "expected Q, K and V of rank 3 or 4, found "
                    << toString(shapeOf(h.q)) << ", " << toString(shapeOf(h.k))
                    << " and " << toString(shapeOf(h.v));
  if (rank == 3) {
    h = {splitHeads(n, h.q, "q_num_heads"), splitHeads(n, h.k, "kv_num_heads"),
         splitHeads(n, h.v, "kv_num_heads"), true};
    if (!h.q || !h.k || !h.v)
      return failure();
  }
  const int at = rank == 3 ? 2 : 1;
  if (shapeOf(h.k)[at] == 0 || shapeOf(h.q)[at] % shapeOf(h.k)[at] != 0)
    return n.fail() << "Attention with " << shapeOf(h.q)[at]
                    << " heads of queries and " << shapeOf(h.k)[at]
                    << " of keys is not supported, expected a multiple";
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
    return n.fail() << "past_key and past_value must be given together";
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

Value indexAlong(const Node &n, const Shape &shape, int64_t axis) {
  auto type = RankedTensorType::get(shape, n.b.getI64Type());
  return ir::IotaOp::create(n.b, n.loc, type, axis);
}

Value both(const Node &n, Value a, Value b) {
  return a && b ? n.make<ir::AndOp>(a, b) : a ? a : b;
}

/// Keys that a query attends to by position: [1 or B, 1, Tq, Tk], or null for
/// all.
Value placesSeen(const Node &n, int64_t queries, int64_t keys) {
  const bool causal = n.integer("is_causal", 0);
  const int64_t left = n.integer("left_window_size", -1);
  const int64_t right = n.integer("right_window_size", -1);
  Shape shape{1, 1, queries, keys};
  Value key = indexAlong(n, shape, 3), length, seen;
  if (n.has(6)) {
    length = n.cast(n.in(6), n.b.getI64Type());
    length = length ? n.reshape(length, {shapeOf(length)[0], 1, 1, 1}) : length;
    seen = n.make<ir::CompareOp>(ir::Predicate::lt, key, length);
  }
  // Distance of a key before its query.
  Value place = indexAlong(n, shape, 2);
  if (n.has(4))
    place = n.make<ir::AddOp>(place, n.constant(n.shape(4)[2], place));
  else if (length)
    place = n.make<ir::AddOp>(
        place, n.make<ir::SubOp>(length, n.constant(queries, length)));
  Value behind = n.make<ir::SubOp>(place, key);
  auto keep = [&](ir::Predicate p, int64_t limit) {
    seen = both(n, seen,
                n.make<ir::CompareOp>(p, behind, n.constant(limit, behind)));
  };
  if (causal)
    keep(ir::Predicate::ge, 0);
  if (left >= 0)
    keep(ir::Predicate::le, left);
  if (right >= 0)
    keep(ir::Predicate::ge, -right);
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
    return n.fail() << "attn_mask has shape " << toString(shape)
                    << ", expected 1 to 4 dimensions";
  while (shape.size() < 4)
    shape.insert(shape.begin(), 1);
  mask = n.reshape(mask, shape);
  if (shape[3] == 1 || shape[3] >= keys)
    return mask;
  std::vector<int64_t> none(4, 0), high{0, 0, 0, keys - shape[3]};
  mask = n.make<ir::PadOp>(mask, ArrayRef<int64_t>(none),
                           ArrayRef<int64_t>(high), ArrayRef<int64_t>(none),
                           llvm::APFloat(isBool(mask) ? 0 : -kInf));
  if (!mask)
    return failure();
  return mask;
}

/// Combines the mask with the position mask.
Value maskOf(const Node &n, Value given, Value seen) {
  if (!given || !seen)
    return given ? given : seen;
  if (isBool(given))
    return both(n, given, seen);
  return n.make<ir::SelectOp>(seen, given, n.constant(-kInf, given));
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

/// Softmax, with 0 for queries whose keys are all masked.
Value probabilities(const Node &n, Value scores, Value bias) {
  Value p = n.make<ir::SoftmaxOp>(scores, uint64_t(3));
  if (!bias)
    return p;
  const int64_t last = 3;
  Value most = n.make<ir::ReduceMaxOp>(bias, ArrayRef<int64_t>(&last, 1), true);
  Value isNone =
      n.make<ir::CompareOp>(ir::Predicate::eq, most, n.constant(-kInf, most));
  return n.make<ir::SelectOp>(isNone, n.constant(0, p), p);
}

Value multiplied(const Node &n, Value a, Value b) {
  return n.make<ir::MatmulOp>(a, b, Value(), false, false, StringAttr());
}

/// Attention as products and a softmax, with the scores as a result according
/// to qk_matmul_output_mode.
Value writtenOut(const Node &n, const Heads &h, Value mask) {
  const double root = std::sqrt(scaleOf(n, h.q));
  auto scaled = [&](Value x) {
    return n.make<ir::MulOp>(x, n.constant(root, x));
  };
  Value scores =
      multiplied(n, scaled(h.q), scaled(n.transpose(h.k, {0, 1, 3, 2})));
  const int64_t mode = n.integer("qk_matmul_output_mode", 0);
  Value shown = scores;
  if (const double cap = n.number("softcap", 0); cap > 0) {
    Value bent =
        n.make<ir::TanhOp>(n.make<ir::DivOp>(scores, n.constant(cap, scores)));
    scores = n.make<ir::MulOp>(bent, n.constant(cap, bent));
    if (mode != 0)
      shown = scores;
  }
  Value bias = mask;
  if (mask && isBool(mask))
    bias = n.make<ir::SelectOp>(mask, n.constant(0, scores),
                                n.constant(-kInf, scores));
  if (bias)
    scores = n.make<ir::AddOp>(scores, bias);
  Value p = probabilities(n, scores, bias);
  if (mode >= 2)
    shown = mode == 2 ? scores : p;
  if (n.uses(3) && failed(n.result(3, shown)))
    return nullptr;
  return multiplied(n, p, h.v);
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
  Value mask = maskOf(n, given, byOp ? Value() : placesSeen(n, queries, keys));
  Value y = isOut ? writtenOut(n, h, mask)
                  : fused(n, h, mask, byOp && n.integer("is_causal", 0));
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
    return n.fail() << name << " is expected to be a graph of one input and "
                    << "one output";
  BodyExpander e(n);
  const std::string prefix = e.label + "/" + name;
  const std::string &inside = graph.input(0).name();
  const std::string given = n.table.unusedName(prefix + "/" + inside);
  n.table.define(given, x);
  n.table.use(given);
  DLC_GET(auto results, e.run(graph, prefix, {{inside, given}}));
  Value y = n.table.value(results.front(), n.loc);
  if (!y || shapeOf(y) != shapeOf(x))
    return n.fail() << name << " is expected to give a tensor of shape "
                    << toString(shapeOf(x))
                    << (y ? ", found " + toString(shapeOf(y)) : "");
  return n.cast(y, ir::elementType(x));
}

/// The type of scores and probabilities.
FailureOr<Type> precisionOf(const Node &n, Type given) {
  if (!n.has("softmax_precision"))
    return ir::isHalf(given) ? n.b.getF32Type() : given;
  const int64_t asked = n.integer("softmax_precision", 0);
  auto dtype = toDType(int(asked));
  if (!dtype || !isFloat(*dtype) || isNarrow(int(asked)))
    return n.fail() << "softmax_precision " << onnxTypeName(int(asked))
                    << " is not supported, expected a float of 16 bits or more";
  return toMlir(*dtype, n.b.getContext());
}

/// FlexAttention of ai.onnx.preview: subgraphs modify scores and probabilities.
LogicalResult flexAttention(const Node &n) {
  for (size_t i = 0; i < 3; ++i)
    if (Value x = n.in(i); !x || shapeOf(x).size() != 4)
      return x ? n.fail() << "expected Q, K and V of rank 4, found "
                          << toString(shapeOf(x))
               : failure();
  DLC_GET(auto heads, headsOf(n));
  Heads h = heads;
  const Type type = ir::elementType(h.q);
  auto precision = precisionOf(n, type);
  if (failed(precision) || failed(spreadGroups(n, h)))
    return failure();
  if (!n.has("score_mod") && !n.has("prob_mod") && !ir::isHalf(*precision)) {
    Value y = fused(n, h, Value(), false);
    return y ? n.result(y) : failure();
  }
  const double root = std::sqrt(scaleOf(n, h.q));
  auto scaled = [&](Value x) {
    return n.make<ir::MulOp>(x, n.constant(root, x));
  };
  DLC_GET(Value scores,
          multiplied(n, scaled(h.q), scaled(n.transpose(h.k, {0, 1, 3, 2}))));
  DLC_GET(auto bent, modified(n, n.cast(scores, *precision), "score_mod"));
  DLC_GET(auto p,
          modified(n, n.make<ir::SoftmaxOp>(bent, uint64_t(3)), "prob_mod"));
  return n.result(n.cast(multiplied(n, p, n.cast(h.v, *precision)), type));
}

/// Rotates each pair: the first element becomes (cos, -sin) times the pair, the
/// second (sin, cos). Pairs are adjacent (interleaved) or half the width apart.
Value turned(const Node &n, Value x, Value cos, Value sin, bool interleaved) {
  Shape s = shapeOf(x);
  const int64_t half = s.back() / 2;
  Shape split = interleaved ? Shape{s[0], s[1], s[2], half, 2}
                            : Shape{s[0], s[1], s[2], 2, half};
  const size_t axis = interleaved ? 4 : 3;
  Value pairs = n.reshape(x, split);
  auto part = [&](int64_t i) {
    SliceBounds bounds{Shape(5, 0), split, Shape(5, 1)};
    bounds.starts[axis] = i;
    bounds.sizes[axis] = 1;
    return n.reshape(n.slice(pairs, bounds), {s[0], s[1], s[2], half});
  };
  Value a = part(0), b = part(1);
  auto mul = [&](Value l, Value r) { return n.make<ir::MulOp>(l, r); };
  Shape one = split;
  one[axis] = 1;
  Value real = n.make<ir::SubOp>(mul(cos, a), mul(sin, b));
  Value imaginary = n.make<ir::AddOp>(mul(sin, a), mul(cos, b));
  Value y = n.make<ir::ConcatOp>(
      ValueRange({n.reshape(real, one), n.reshape(imaginary, one)}),
      uint64_t(axis));
  return n.reshape(y, s);
}

/// cos or sin as [B or 1, T, 1, half], gathered at positions [B, T] if given.
Value angles(const Node &n, Value table, Value positions) {
  if (table && positions) {
    positions = n.cast(positions, n.b.getI64Type());
    table = n.make<ir::GatherOp>(table, positions, uint64_t(0), IntegerAttr());
  }
  if (!table)
    return table;
  Shape s = shapeOf(table);
  if (s.size() == 2)
    s.insert(s.begin(), 1);
  return n.reshape(table, {s[0], s[1], 1, s[2]});
}

/// Reshapes [B, T, H * D] to [B, T, H, D]. If the number of heads is not given,
/// D is the width of the tables.
Value headsToTurn(const Node &n, Value x, Value cos) {
  Shape s = shapeOf(x);
  const int64_t width = cos ? 2 * shapeOf(cos).back() : 0;
  if (n.integer("num_heads", 0) || n.integer("rotary_embedding_dim", 0) ||
      width < 1 || s[2] % width)
    return splitHeads(n, x, "num_heads");
  return n.reshape(x, {s[0], s[1], s[2] / width, width});
}

/// X [B, H, T, D] or [B, T, H * D].
LogicalResult rotary(const Node &n, Value cosTable, Value sinTable,
                     Value positions) {
  DLC_GET(Value x, n.in(0));
  const Shape given = shapeOf(x);
  if (given.size() != 3 && given.size() != 4)
    return n.fail() << "expected an input of rank 3 or 4, found "
                    << toString(given);
  const bool isFlat = given.size() == 3;
  Value cos = angles(n, cosTable, positions);
  Value sin = angles(n, sinTable, positions);
  x = isFlat ? headsToTurn(n, x, cos) : swapped(n, x);
  if (!x || !cos || !sin)
    return failure();
  Shape s = shapeOf(x);
  const int64_t some = n.integer("rotary_embedding_dim", 0);
  const int64_t width = some ? some : s[3];
  if (width > s[3] || width % 2 || shapeOf(cos).back() != width / 2)
    return n.fail() << "turning " << width << " of " << s[3]
                    << " numbers of a head needs tables of " << width / 2
                    << ", found " << shapeOf(cos).back();
  auto cut = [&](int64_t from, int64_t size) {
    return n.slice(x, {{0, 0, 0, from}, {s[0], s[1], s[2], size}, Shape(4, 1)});
  };
  Value y = turned(n, cut(0, width), cos, sin, n.integer("interleaved", 0));
  if (y && width < s[3])
    y = n.make<ir::ConcatOp>(ValueRange({y, cut(width, s[3] - width)}),
                             uint64_t(3));
  return n.result(isFlat ? n.reshape(y, given) : swapped(n, y));
}

LogicalResult rotaryEmbedding(const Node &n) {
  return rotary(n, n.in(1), n.in(2), n.has(3) ? n.in(3) : Value());
}

} // namespace
} // namespace attentions

void addAttentionRows(Rows &rows) {
  rows["Attention"] = attentions::attention;
  rows["ai.onnx.preview.FlexAttention"] = attentions::flexAttention;
  rows["RotaryEmbedding"] = attentions::rotaryEmbedding;
}

} // namespace dlc::import
