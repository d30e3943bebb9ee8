// SPDX-License-Identifier: Apache-2.0
// Operators of com.microsoft around attention: rotary embeddings, embeddings,
// position biases.
#include "compiler/import/rows/contrib/Compose.h"
#include "onnx-ml.pb.h"
#include <cmath>

using namespace mlir;

namespace dlc::import {
namespace places {
namespace {

LogicalResult rotaryEmbedding(const Node &n) {
  if (n.integer("is_packed_batching", 0) || n.number("scale", 1) != 1)
    return n.fail("is_packed_batching and scale are not supported");
  Composer c(n);
  const Shape s = c.shape(c.in(0));
  std::string at = c.in(1);
  if (c.shape(at) == Shape{1} && s.size() > 2) { // where the first one is
    const int64_t length = s[s.size() - 2];
    at = c.add("Add", {c.asLong(at), c.integers(c.upTo(length), {1, length})});
  }
  std::vector<Setting> settings;
  for (const char *name : {"interleaved", "num_heads", "rotary_embedding_dim"})
    settings.emplace_back(name, n.integer(name, 0));
  c.give(0,
         c.add("RotaryEmbedding", {c.in(0), c.in(2), c.in(3), at}, settings));
  return c.done();
}

/// Bucket of a key at `distance` before its query, as in T5: one per distance
/// for small ones, then logarithmic. RelativePositionBias has a number per head
/// and bucket.
int64_t bucketOf(int64_t distance, int64_t count, int64_t most, bool isBoth) {
  const int64_t buckets = isBoth ? count / 2 : count, exact = buckets / 2;
  const int64_t base = isBoth && distance < 0 ? buckets : 0;
  distance = isBoth ? std::abs(distance) : std::max<int64_t>(0, distance);
  if (distance < exact)
    return base + distance;
  const float part = std::log(float(distance) / float(exact)) /
                     std::log(float(most) / float(exact));
  return base +
         std::min(buckets - 1, exact + int64_t(part * float(buckets - exact)));
}

LogicalResult relativePositionBias(const Node &n) {
  DLC_GET(auto queries, n.number(1, "query_length"));
  DLC_GET(auto keys, n.number(2, "key_length"));
  Composer c(n);
  const Shape table = c.shape(c.in(0));
  const int64_t rows = int64_t(queries), columns = int64_t(keys);
  const int64_t most = n.integer("max_distance", 128);
  const bool isBoth = n.integer("is_bidirectional", 0);
  if (table.size() != 2 || rows < 1 || columns < 1 || rows > (1 << 15) ||
      columns > (1 << 15) || table[0] < 4 || most < 2)
    return c.fail("a table of shape {} for {} queries and {} keys "
                  "is not supported",
                  table, rows, columns);
  DLC_CHECK(
      n.check(n.table.budget().work(uint64_t(rows * columns), "buckets")));
  std::vector<int64_t> all;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      all.push_back(bucketOf(i - j, table[0], most, isBoth));
  std::string bias = c.add(
      "Gather", {c.in(0), c.integers(all, {rows, columns})}, {{"axis", 0}});
  c.give(0, c.unsqueeze(c.transpose(bias, {2, 0, 1}), {0}));
  return c.done();
}

/// Sum of word, position and segment embeddings, normalised.
LogicalResult embedLayerNorm(const Node &n) {
  Composer c(n);
  const Shape ids = c.shape(c.in(0));
  if (ids.size() != 2)
    return c.fail("expected input_ids of rank 2, found {}", ids);
  auto look = [&](size_t table, const std::string &at) {
    return c.add("Gather", {c.in(table), at}, {{"axis", 0}});
  };
  std::string places =
      n.has(8) ? look(3, c.in(8)) : c.slice(c.in(3), 0, 0, ids[1]);
  std::string x = c.sum(look(2, c.in(0)), places);
  if (n.has(1) && n.has(4))
    x = c.sum(x, look(4, c.in(1)));
  c.give(0, c.add("LayerNormalization", {x, c.in(5), c.in(6)},
                  {{"axis", -1}, {"epsilon", n.number("epsilon", 1e-12)}}));
  if (n.uses(1))
    c.give(
        1,
        n.has(7)
            ? c.castTo(c.add("ReduceSum", {c.asLong(c.in(7)), c.integers({1})},
                             {{"keepdims", 0}}),
                       onnx::TensorProto::INT32)
            : c.castTo(c.integers(std::vector<int64_t>(size_t(ids[0]), 0)),
                       onnx::TensorProto::INT32));
  c.give(2, x);
  return c.done();
}

/// Softmax over all dimensions from the axis on.
LogicalResult biasSoftmax(const Node &n) {
  Composer c(n);
  std::string x = c.add("Add", {c.in(0), c.in(1)});
  const Shape shape = c.shape(x);
  DLC_GET(auto axis, n.axis("axis", 1, int64_t(shape.size())));
  int64_t rows = 1;
  for (int64_t i = 0; i < axis; ++i)
    rows *= shape[size_t(i)];
  const bool isLast = axis + 1 == int64_t(shape.size());
  x = c.add("Softmax", {isLast ? x : c.reshape(x, {rows, -1})}, {{"axis", -1}});
  c.give(0, isLast ? x : c.reshape(x, shape));
  return c.done();
}

/// WavLM's position bias, multiplied per head by a gate computed from the
/// query.
LogicalResult gatedPositionBias(const Node &n) {
  DLC_CHECK(refuseInputs(n, {6}));
  Composer c(n);
  const Shape query = c.shape(c.in(0)), weight = c.shape(c.in(3));
  const int64_t heads = n.integer("num_heads", 0);
  if (query.size() != 3 || weight.size() != 2 || heads < 1 ||
      query[2] % heads || weight[1] % 2)
    return c.fail("queries of shape {} with weights of shape {} in "
                  "{} heads are not supported",
                  query, weight, heads);
  const int64_t batch = query[0], length = query[1];
  std::string x = c.sum(c.in(0), c.in(1));
  x = c.transpose(c.reshape(x, {batch, length, heads, query[2] / heads}),
                  {0, 2, 1, 3});
  x = c.sum(c.add("MatMul", {x, c.in(3)}), c.in(4));
  x = c.reshape(x, {batch, heads, length, 2, weight[1] / 2});
  x = c.add("Sigmoid",
            {c.add("ReduceSum", {x, c.integers({4})}, {{"keepdims", 0}})});
  auto gates = c.split(x, 3, {1, 1});
  std::string open = c.add("Mul", {gates[1], c.in(5)});
  open = c.add("Sub", {open, c.number(1, open)});
  open = c.add("Mul", {gates[0], open});
  open = c.add("Add", {open, c.number(2, open)});
  c.give(0, c.add("Mul", {open, c.in(2)}));
  return c.done();
}

} // namespace
} // namespace places

void addContribPlaceRows(Rows &rows) {
  const std::string domain = "com.microsoft.";
  rows[domain + "BiasSoftmax"] = places::biasSoftmax;
  rows[domain + "GatedRelativePositionBias"] = places::gatedPositionBias;
  rows[domain + "EmbedLayerNormalization"] = places::embedLayerNorm;
  rows[domain + "RelativePositionBias"] = places::relativePositionBias;
  rows[domain + "RotaryEmbedding"] = places::rotaryEmbedding;
}

} // namespace dlc::import
