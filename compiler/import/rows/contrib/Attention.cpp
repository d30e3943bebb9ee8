// SPDX-License-Identifier: Apache-2.0
// Attention operators of com.microsoft, composed of ONNX's Attention.
#include "compiler/import/rows/contrib/Compose.h"
#include "onnx-ml.pb.h"

using namespace mlir;

namespace dlc::import {
namespace contribs {
namespace {

using Names = std::vector<std::string>;

/// Common operands: queries, keys and values [B, T, heads * D], an additive
/// mask, and a cache [B, heads, P, D].
struct Heads {
  std::string q, k, v, mask = {}, pastKey = {}, pastValue = {};
  int64_t count = 0, keyCount = 0;
};

/// The addend of masked scores.
double filterOf(const Node &n) {
  return n.number("mask_filter_value", -10000.0);
}

/// Keys before `end` and, if given, from `start` on: [B] each.
std::string between(Composer &c, const std::string &end,
                    const std::string &start, int64_t keys) {
  std::string places = c.integers(c.upTo(keys));
  std::string seen = c.add("Less", {places, c.unsqueeze(end, {1})});
  if (start.empty())
    return seen;
  std::string from = c.add("GreaterOrEqual", {places, c.unsqueeze(start, {1})});
  return c.add("And", {seen, from});
}

/// Boolean mask of keys to attend to, [B or 1, 1, T or 1, keys], from one of
/// the mask's forms.
std::string seenBy(Composer &c, const std::string &mask, int64_t batch,
                   int64_t queries, int64_t keys) {
  const Shape s = c.shape(mask);
  const bool isEnds = s.size() == 1 && (s[0] == batch || s[0] == 2 * batch);
  if (isEnds) {
    Names ends{c.asLong(mask), ""};
    if (s[0] == 2 * batch)
      ends = c.split(ends[0], 0, {batch, batch});
    return c.unsqueeze(between(c, ends[0], ends[1], keys), {1, 2});
  }
  std::string seen = c.castTo(mask, onnx::TensorProto::BOOL);
  if (s.size() == 2 && s[1] == keys)
    return c.unsqueeze(seen, {1, 2});
  if (s.size() == 3 && s[1] == queries && s[2] == keys)
    return c.unsqueeze(seen, {1});
  if (s.size() == 4 && s[1] == 1 && s[2] >= keys && s[3] >= keys)
    return c.slice(c.slice(seen, 2, keys - queries, keys), 3, 0, keys);
  (void)c.fail("a mask of shape {} for {} queries and {} keys is "
               "not supported",
               s, queries, keys);
  return "";
}

/// Combines a key mask and a bias in one addend of scores.
std::string joinedMask(Composer &c, const std::string &seen,
                       const std::string &bias, const std::string &like) {
  if (seen.empty() || !c.isGood())
    return bias;
  std::string added =
      c.add("Where", {seen, c.number(0, like), c.number(filterOf(c.n), like)});
  return c.sum(added, bias);
}

int64_t lengthOf(Composer &c, const std::string &x, size_t axis) {
  const Shape s = c.shape(x);
  return axis < s.size() ? s[axis] : 0;
}

/// Attention; results 1 and 2 are keys and values including the cache.
Names attended(Composer &c, const Heads &h, bool causal,
               const std::string &lengths = "", int64_t left = -1) {
  std::vector<Setting> settings{{"q_num_heads", h.count},
                                {"kv_num_heads", h.keyCount},
                                {"is_causal", int64_t(causal)}};
  if (double scale = c.n.number("scale", 0); scale != 0)
    settings.emplace_back("scale", scale);
  if (double cap = c.n.number("softcap", 0); cap != 0)
    settings.emplace_back("softcap", cap);
  if (left >= 0)
    settings.emplace_back("left_window_size", left);
  return c.addAll("Attention",
                  {h.q, h.k, h.v, h.mask, h.pastKey, h.pastValue, lengths},
                  settings, h.pastKey.empty() ? 1 : 3);
}

/// Reshapes [B, T, heads * D] to [B, heads, T, D].
std::string parted(Composer &c, const std::string &x, int64_t heads) {
  const Shape s = c.shape(x);
  if (s.size() != 3 || heads < 1)
    return x;
  return c.transpose(c.reshape(x, {s[0], s[1], heads, s[2] / heads}),
                     {0, 2, 1, 3});
}

/// Reshapes [B, heads, T, D] to [B, T, heads * D].
std::string merged(Composer &c, const std::string &x) {
  const Shape s = c.shape(x);
  if (s.size() != 4)
    return x;
  return c.reshape(c.transpose(x, {0, 2, 1, 3}), {s[0], s[2], s[1] * s[3]});
}

/// Sets results `at` and `at` + 1 to all keys and values so far.
void givePresent(Composer &c, const Heads &h, const Names &results, size_t at) {
  for (size_t i = 0; i < 2; ++i)
    if (c.n.uses(at + i))
      c.give(at + i, results.size() > 1 ? results[1 + i]
                                        : parted(c, i ? h.v : h.k, h.keyCount));
}

/// Attention with one projection of the input to [B, T, Dq + Dk + Dv].
LogicalResult attention(const Node &n) {
  DLC_CHECK(refuseInputs(n, {6}));
  Composer c(n);
  const std::string projected =
      c.sum(c.add("MatMul", {c.in(0), c.in(1)}), c.in(2));
  if (n.integer("do_rotary", 0))
    return c.fail("do_rotary is not supported");
  const Shape s = c.shape(projected);
  if (s.size() != 3)
    return c.fail("expected an input of rank 3");
  auto sizes = n.integers("qkv_hidden_sizes", {});
  if (sizes.empty())
    sizes.assign(3, s[2] / 3);
  if (sizes.size() != 3)
    return c.fail("expected 3 qkv_hidden_sizes");
  Names qkv = c.split(projected, 2, sizes);
  Heads h{qkv[0], qkv[1], qkv[2]};
  h.count = h.keyCount = n.integer("num_heads", 0);
  int64_t before = 0;
  if (n.has(4)) {
    before = lengthOf(c, c.in(4), 3);
    Names past = c.split(c.in(4), 0, {1, 1});
    h.pastKey = c.add("Squeeze", {past[0], c.integers({0})});
    h.pastValue = c.add("Squeeze", {past[1], c.integers({0})});
  }
  std::string seen;
  if (n.has(3))
    seen = seenBy(c, c.in(3), s[0], s[1], s[1] + before);
  h.mask = joinedMask(c, seen, c.in(5), h.q);
  Names y = attended(c, h, n.integer("unidirectional", 0));
  c.give(0, y[0]);
  if (n.uses(1)) {
    Names all{parted(c, h.k, h.keyCount), parted(c, h.v, h.keyCount)};
    if (y.size() > 1)
      all = {y[1], y[2]};
    c.give(1, c.join({c.unsqueeze(all[0], {0}), c.unsqueeze(all[1], {0})}, 0));
  }
  return c.done();
}

/// Queries, keys and values, which may be packed: [B, T, heads, 3, D], or keys
/// and values [B, T, heads, 2, D], or separate [B, heads, T, D].
Names unpacked(Composer &c) {
  Names qkv{c.in(0), c.in(1), c.in(2)};
  auto parts = [&](const std::string &x, int64_t count) {
    const Shape s = c.shape(x);
    Names all = c.split(x, 3, std::vector<int64_t>(size_t(count), 1));
    for (std::string &part : all)
      part = c.reshape(part, {s[0], s[1], s[2] * s[4]});
    return all;
  };
  if (c.shape(qkv[0]).size() == 5)
    return parts(qkv[0], 3);
  if (c.shape(qkv[1]).size() == 5) {
    Names both = parts(qkv[1], 2);
    return {qkv[0], both[0], both[1]};
  }
  if (qkv[1].empty() || qkv[2].empty()) {
    (void)c.fail("expected queries, keys and values, found no keys or values");
    return qkv;
  }
  return {qkv[0], merged(c, qkv[1]), merged(c, qkv[2])};
}

LogicalResult multiHeadAttention(const Node &n) {
  DLC_CHECK(refuseInputs(n, {8, 9}));
  Composer c(n);
  Names qkv = unpacked(c);
  if (n.has(3)) {
    std::vector<int64_t> sizes;
    for (const std::string &x : qkv)
      sizes.push_back(lengthOf(c, x, 2));
    Names bias = c.split(c.in(3), 0, sizes);
    for (int i = 0; i < 3; ++i)
      qkv[i] = c.sum(qkv[i], bias[i]);
  }
  Heads h{qkv[0], qkv[1], qkv[2]};
  h.count = h.keyCount = n.integer("num_heads", 0);
  h.pastKey = c.in(6);
  h.pastValue = c.in(7);
  const int64_t keys = lengthOf(c, h.k, 1) + lengthOf(c, h.pastKey, 2);
  std::string seen;
  if (n.has(4))
    seen = seenBy(c, c.in(4), lengthOf(c, h.q, 0), lengthOf(c, h.q, 1), keys);
  h.mask = joinedMask(c, seen, c.in(5), h.q);
  Names y = attended(c, h, n.integer("unidirectional", 0));
  c.give(0, y[0]);
  givePresent(c, h, y, 1);
  return c.done();
}

/// RMS norm of each head of [B, T, heads * D].
std::string normed(Composer &c, const std::string &x, const std::string &scale,
                   int64_t heads) {
  const Shape s = c.shape(x);
  if (scale.empty() || s.size() != 3)
    return x;
  std::string y =
      c.add("RMSNormalization",
            {c.reshape(x, {s[0], s[1], heads, s[2] / heads}), scale},
            {{"axis", -1}, {"epsilon", c.n.number("qk_norm_epsilon", 1e-6)}});
  return c.reshape(y, s);
}

std::string turned(Composer &c, const std::string &x, const std::string &places,
                   int64_t heads) {
  const int64_t width = 2 * lengthOf(c, c.in(7), 1);
  return c.add("RotaryEmbedding", {x, c.in(7), c.in(8), places},
               {{"num_heads", heads},
                {"rotary_embedding_dim", width},
                {"interleaved", c.n.integer("rotary_interleaved", 0)}});
}

/// Causal and window mask as an addend of scores [1, 1, T, keys].
std::string causalMask(Composer &c, int64_t queries, int64_t keys, int64_t left,
                       const std::string &like) {
  std::string q = c.integers(c.upTo(queries), {1, 1, queries, 1});
  std::string k = c.integers(c.upTo(keys), {1, 1, 1, keys});
  std::string seen = c.add("LessOrEqual", {k, q});
  if (left >= 0)
    seen =
        c.add("And",
              {seen, c.add("GreaterOrEqual",
                           {c.add("Add", {k, c.number(double(left), k)}), q})});
  return c.add("Where",
               {seen, c.number(0, like),
                c.number(-std::numeric_limits<double>::infinity(), like)});
}

/// Prepends a key and value of zeros whose score is a number per head: a sink
/// only adds to the softmax's denominator.
void addSink(Composer &c, Heads &h, int64_t left) {
  const Shape q = c.shape(h.q), k = c.shape(h.k), v = c.shape(h.v);
  if (!c.isGood())
    return;
  std::string mask = c.sum(causalMask(c, q[1], k[1], left, h.q), h.mask);
  const Shape m = c.shape(mask);
  if (!c.isGood() || m.size() != 4)
    return;
  std::string sink = c.number(0, h.q);
  if (!c.in(11).empty())
    sink = c.add("CastLike", {c.reshape(c.in(11), {1, h.count, 1, 1}), h.q});
  mask = c.add("Expand", {mask, c.integers({m[0], h.count, q[1], k[1]})});
  sink = c.add("Expand", {sink, c.integers({m[0], h.count, q[1], 1})});
  h.mask = c.join({sink, mask}, 3);
  auto zeros = [&](const std::string &x, const Shape &s) {
    return c.add("Expand", {c.number(0, x), c.integers({s[0], 1, s[2]})});
  };
  h.k = c.join({zeros(h.k, k), h.k}, 1);
  h.v = c.join({zeros(h.v, v), h.v}, 1);
}

/// The cache with new keys or values written after the valid ones, whose number
/// comes from seqlens_k.
std::string extended(Composer &c, const std::string &past,
                     const std::string &fresh, const std::string &first,
                     int64_t total) {
  const Shape s = c.shape(past);
  std::string cache = past;
  if (s.size() == 4 && s[2] < total)
    cache = c.add("Pad", {past, c.integers({0, total - s[2]}),
                          c.number(0, past), c.integers({2})});
  return c.add("TensorScatter", {cache, fresh, first}, {{"axis", 2}});
}

/// With a cache the queries are the last positions of each sample's keys.
LogicalResult withCache(Composer &c, Heads h, const std::string &lengths,
                        int64_t left) {
  const int64_t fresh = lengthOf(c, h.q, 1);
  auto total = c.n.number(6, "total_sequence_length");
  if (mlir::failed(total))
    return failure();
  std::string first = c.add("Sub", {lengths, c.integers({fresh})});
  const int64_t room = std::max(int64_t(*total), lengthOf(c, c.in(3), 2));
  std::string keys =
      extended(c, c.in(3), parted(c, h.k, h.keyCount), first, room);
  std::string values =
      extended(c, c.in(4), parted(c, h.v, h.keyCount), first, room);
  h.k = merged(c, keys);
  h.v = merged(c, values);
  c.give(0, attended(c, h, true, lengths, left)[0]);
  c.give(1, keys);
  c.give(2, values);
  return c.done();
}

/// Reports unsupported forms.
LogicalResult checkGroups(const Node &n) {
  DLC_CHECK(refuseInputs(n, {12, 13}));
  for (const char *name : {"k_quant_type", "v_quant_type"})
    if (n.text(name, "NONE") != "NONE")
      return n.fail("{} {} is not supported, expected NONE", name,
                    n.text(name, ""));
  if (n.integer("sliding_window_cache", 0))
    return n.fail("sliding_window_cache is not supported");
  if (n.integer("num_heads", 0) < 1 || n.integer("kv_num_heads", 0) < 1)
    return n.fail(
        "expected num_heads and kv_num_heads of 1 or more, found {} and {}",
        n.integer("num_heads", 0), n.integer("kv_num_heads", 0));
  return success();
}

LogicalResult groupQueryAttention(const Node &n) {
  DLC_CHECK(checkGroups(n));
  Composer c(n);
  Heads h{c.in(0), c.in(1), c.in(2), c.in(10)};
  h.count = n.integer("num_heads", 0);
  h.keyCount = n.integer("kv_num_heads", 0);
  const Shape s = c.shape(h.q);
  if (s.size() != 3)
    return c.fail("expected queries of rank 3, found {}", s);
  if (h.k.empty()) {
    const int64_t width = s[2] / (h.count + 2 * h.keyCount);
    Names all = c.split(
        h.q, 2, {width * h.count, width * h.keyCount, width * h.keyCount});
    h = {all[0], all[1], all[2], h.mask, "", "", h.count, h.keyCount};
  }
  h.q = normed(c, h.q, c.in(14), h.count);
  h.k = normed(c, h.k, c.in(15), h.keyCount);
  const bool hasCache = lengthOf(c, c.in(3), 2) > 0;
  std::string lengths;
  if (hasCache)
    lengths =
        c.add("Add", {c.reshape(c.asLong(c.in(5)), {s[0]}), c.integers({1})});
  if (n.integer("do_rotary", 0)) {
    std::string places = c.integers(c.upTo(s[1]), {1, s[1]});
    if (n.has(9))
      places = c.in(9);
    else if (hasCache)
      places = c.add(
          "Add", {c.add("Sub", {c.unsqueeze(lengths, {1}), c.integers({s[1]})}),
                  places});
    h.q = turned(c, h.q, places, h.count);
    h.k = turned(c, h.k, places, h.keyCount);
  }
  const int64_t left = n.integer("local_window_size", -1) - 1;
  const bool hasSink = n.has(11) || n.integer("smooth_softmax", 0) > 0;
  const bool causal = n.integer("causal", 1);
  if (hasSink && (hasCache || !causal))
    return c.fail("a sink beside a cache, or without causality, is not "
                  "supported");
  if (hasCache)
    return withCache(c, h, lengths, left);
  givePresent(c, h, {}, 1);
  if (hasSink)
    addSink(c, h, left);
  c.give(0, attended(c, h, causal && !hasSink, "", hasSink ? -1 : left)[0]);
  return c.done();
}

} // namespace
} // namespace contribs

void addContribAttentionRows(Rows &rows) {
  const std::string domain = "com.microsoft.";
  rows[domain + "Attention"] = contribs::attention;
  rows[domain + "GroupQueryAttention"] = contribs::groupQueryAttention;
  rows[domain + "MultiHeadAttention"] = contribs::multiHeadAttention;
}

} // namespace dlc::import
