// Attention, ai.onnx 23 and newer, as far as training has it: no caches of
// keys, no caps of scores, as many heads of keys as of queries.
#include "compiler/import/rows/Rows.h"
#include "onnx-ml.pb.h"
#include <cmath>

using namespace mlir;

namespace dlc::import {
namespace {

LogicalResult checkSupported(const Node &n) {
  constexpr const char *kInputs[] = {"past_key", "past_value",
                                     "nonpad_kv_seqlen"};
  for (size_t i = 0; i < 3; ++i)
    if (n.has(4 + i))
      return n.fail() << "input " << kInputs[i]
                      << " of Attention is not supported: a step of training "
                         "has no cache";
  constexpr const char *kOutputs[] = {"present_key", "present_value",
                                      "qk_matmul_output"};
  for (size_t i = 0; i < 3; ++i)
    if (n.uses(1 + i))
      return n.fail() << "output " << kOutputs[i]
                      << " of Attention is not supported";
  if (n.number("softcap", 0) != 0)
    return n.fail() << "softcap " << n.number("softcap", 0)
                    << " of Attention is not supported";
  for (const char *window : {"left_window_size", "right_window_size"})
    if (n.integer(window, -1) != -1)
      return n.fail() << window << " " << n.integer(window, -1)
                      << " of Attention is not supported";
  return success();
}

/// [B, T, heads * D] as [B, T, heads, D]; null, with an error, if it is not
/// that.
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

/// The mask as [B or 1, H or 1, Tq or 1, Tk].
Value fourDims(const Node &n, Value mask) {
  Shape shape = shapeOf(mask);
  if (shape.size() > 4) {
    n.fail() << "attn_mask has shape " << toString(shape)
             << ", expected at most 4 dimensions";
    return nullptr;
  }
  while (shape.size() < 4)
    shape.insert(shape.begin(), 1);
  return n.reshape(mask, shape);
}

LogicalResult attention(const Node &n) {
  if (failed(checkSupported(n)))
    return failure();
  Value q = n.in(0), k = n.in(1), v = n.in(2);
  if (!q || !k || !v)
    return failure();
  const size_t rank = shapeOf(q).size();
  if ((rank != 3 && rank != 4) || shapeOf(k).size() != rank ||
      shapeOf(v).size() != rank)
    return n.fail() << "expected Q, K and V of rank 3 or 4, found "
                    << toString(shapeOf(q)) << ", " << toString(shapeOf(k))
                    << " and " << toString(shapeOf(v));
  if (rank == 3) {
    q = splitHeads(n, q, "q_num_heads");
    k = splitHeads(n, k, "kv_num_heads");
    v = splitHeads(n, v, "kv_num_heads");
    if (!q || !k || !v)
      return failure();
  }
  const int heads = rank == 3 ? 2 : 1;
  if (shapeOf(q)[heads] != shapeOf(k)[heads])
    return n.fail() << "Attention with " << shapeOf(q)[heads]
                    << " heads of queries and " << shapeOf(k)[heads]
                    << " of keys is not supported, expected as many";
  Value mask;
  if (n.has(3)) {
    mask = n.in(3);
    mask = mask ? fourDims(n, mask) : mask;
    if (!mask)
      return failure();
  }
  const double scale =
      n.number("scale", 1 / std::sqrt(double(shapeOf(q).back())));
  Operation *op = n.makeOp<ir::AttentionOp>(
      2, q, k, v, mask, llvm::APFloat(scale), n.integer("is_causal", 0) != 0,
      rank == 3 ? "bthd" : "bhtd");
  if (!op)
    return failure();
  Value y = op->getResult(0);
  Shape shape = shapeOf(y);
  if (rank == 3)
    y = n.reshape(y, {shape[0], shape[1], shape[2] * shape[3]});
  return n.result(y);
}

} // namespace

void addAttentionRows(Rows &rows) { rows["Attention"] = {23, attention}; }

} // namespace dlc::import
