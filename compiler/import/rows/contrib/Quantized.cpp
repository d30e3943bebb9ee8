// SPDX-License-Identifier: Apache-2.0
// Operators of com.microsoft with low-bit weights.
#include "compiler/import/rows/contrib/Compose.h"
#include "onnx-ml.pb.h"

using namespace mlir;

namespace dlc::import {
namespace integers {
namespace {

using Names = std::vector<std::string>;

/// Unpacks numbers of `bits` bits from bytes, lowest bits first or highest
/// first, into a new dimension.
std::string split(Composer &c, const std::string &x, int64_t bits,
                  bool highFirst = false) {
  const std::string bytes = c.unsqueeze(x, {-1});
  if (bits == 8)
    return bytes;
  HostTensor shifts(DType::U8, {8 / bits});
  for (int64_t i = 0, count = 8 / bits; i < count; ++i)
    shifts.setInteger(i, 1 << bits * (highFirst ? count - 1 - i : i));
  return c.add("BitwiseAnd", {c.add("Div", {bytes, c.known(shifts)}),
                              c.number(double((1 << bits) - 1), x)});
}

/// The same, unpacked into the last dimension.
std::string unpacked(Composer &c, const std::string &x, int64_t bits,
                     bool highFirst = false) {
  Shape shape = c.shape(x);
  if (!shape.empty())
    shape.back() *= 8 / bits;
  return bits == 8 ? x : c.reshape(split(c, x, bits, highFirst), shape);
}

int64_t ceilOf(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// A B' with low-bit B [N, K] in blocks along K, each with a scale and a zero
/// point.
LogicalResult matmulBits(const Node &n) {
  const int64_t bits = n.integer("bits", 4), block = n.integer("block_size", 0),
                rows = n.integer("N", 0), size = n.integer("K", 0);
  if (bits != 2 && bits != 4 && bits != 8)
    return n.fail("bits is {}, expected 2, 4 or 8", bits);
  if (block < 1 || rows < 1 || size < 1)
    return n.fail("expected N, K and block_size of 1 or more");
  if (n.integer("weight_prepacked", 0))
    return n.fail("weight_prepacked is not supported: weights are in the order "
                  "of one device");
  DLC_CHECK(refuseInputs(n, {4}));
  Composer c(n);
  const int64_t blocks = ceilOf(size, block);
  const Shape spread{rows, blocks, 1, 1};
  auto asFloat = [&](const std::string &x) {
    return c.add("CastLike", {x, c.in(0)});
  };
  std::string w = c.reshape(c.in(1), {rows, blocks, ceilOf(block * bits, 8)});
  w = asFloat(split(c, w, bits));
  std::string zero = c.number(double(1 << (bits - 1)), w);
  if (n.has(3) && n.onnxType(3) == onnx::TensorProto::UINT8) {
    zero = c.reshape(c.in(3), {rows, ceilOf(blocks * bits, 8)});
    zero = c.slice(unpacked(c, zero, bits), 1, 0, blocks);
    zero = c.reshape(asFloat(zero), spread);
  } else if (n.has(3)) {
    zero = c.reshape(c.in(3), spread);
  }
  w = c.add("Mul", {c.add("Sub", {w, zero}), c.reshape(c.in(2), spread)});
  w = c.slice(c.reshape(w, {rows, blocks * block}), 1, 0, size);
  std::string y = c.add("MatMul", {c.in(0), c.transpose(w, {1, 0})});
  c.give(0, c.sum(y, c.in(5)));
  return c.done();
}

/// The 16 values of bitsandbytes' 4-bit types: FP4 and NF4.
constexpr double kLevels[2][16] = {
    {0, 5.208333333e-03, 0.66666667, 1, 0.33333333, 0.5, 0.16666667, 0.25, 0,
     -5.208333333e-03, -0.66666667, -1, -0.33333333, -0.5, -0.16666667, -0.25},
    {-1, -0.6961928, -0.52507305, -0.3949175, -0.28444138, -0.18477343,
     -0.091050036, 0, 0.0795803, 0.1609302, 0.2461123, 0.33791524, 0.44070983,
     0.562617, 0.72295684, 1}};

/// A B' with B [N, K] of such values in blocks, each with its absolute maximum.
LogicalResult matmulLevels(const Node &n) {
  const int64_t block = n.integer("block_size", 0), rows = n.integer("N", 0),
                size = n.integer("K", 0), count = rows * size;
  if (block < 1 || rows < 1 || size < 1 || count % 2 || count % block)
    return n.fail("N {} and K {} in blocks of {} are not supported", rows, size,
                  block);
  Composer c(n);
  HostTensor table(DType::F32, {16});
  for (int64_t i = 0; i < 16; ++i)
    table.setNumber(i, kLevels[n.integer("quant_type", 0) != 0][i]);
  std::string codes = unpacked(c, c.reshape(c.in(1), {count / 2}), 4, true);
  codes = c.castTo(codes, onnx::TensorProto::INT64);
  std::string w = c.add("Gather", {c.known(table), codes}, {{"axis", 0}});
  w = c.add("CastLike", {w, c.in(0)});
  w = c.add("Mul", {c.reshape(w, {count / block, block}),
                    c.reshape(c.in(2), {count / block, 1})});
  w = c.reshape(w, {rows, size});
  // ONNX Runtime's transB: whether B is [N, K].
  c.give(0, c.add("MatMul", {c.in(0), n.integer("transB", 1)
                                          ? c.transpose(w, {1, 0})
                                          : c.reshape(w, {size, rows})}));
  return c.done();
}

/// Gathers rows of a low-bit table.
LogicalResult gatherBits(const Node &n) {
  Composer c(n);
  const Shape table = c.shape(c.in(0)), scales = c.shape(c.in(2));
  const int64_t rank = int64_t(table.size());
  DLC_GET(auto axis, n.axis("quantize_axis", 1, rank));
  DLC_GET(auto over, n.axis("gather_axis", 0, rank));
  if (over != 0 || axis != rank - 1 || rank < 2 ||
      scales.size() != table.size())
    return c.fail("expected gather_axis 0, quantize_axis the last one, and "
                  "scales of the rank of the data");
  const bool isPacked = n.onnxType(0) == onnx::TensorProto::UINT8;
  const int64_t bits = isPacked ? n.integer("bits", 4) : 8;
  if (!llvm::is_contained({2, 4, 8}, bits))
    return c.fail("bits is {}, expected 2, 4 or 8", bits);
  auto rows = [&](size_t i) {
    return c.add("Gather", {c.in(i), c.in(1)}, {{"axis", 0}});
  };
  auto asFloat = [&](const std::string &x) {
    return c.add("CastLike", {x, c.in(2)});
  };
  std::string w = asFloat(unpacked(c, rows(0), bits)), scale = rows(2);
  const Shape shape = c.shape(w), blocks = c.shape(scale);
  if (!c.isGood() || blocks.empty() || blocks.back() < 1)
    return failure();
  const int64_t block = n.integer("block_size", 128);
  std::string zero;
  if (n.has(3))
    zero = asFloat(c.slice(unpacked(c, rows(3), bits), -1, 0, blocks.back()));
  else if (isPacked)
    zero = c.add("Expand", {c.number(double(1 << (bits - 1)), scale),
                            c.integers(blocks)});
  auto spread = [&](const std::string &x) {
    Shape split = blocks, wide = blocks, flat = blocks;
    split.push_back(1);
    wide.push_back(block);
    flat.back() *= block;
    std::string y = c.add("Expand", {c.reshape(x, split), c.integers(wide)});
    return c.slice(c.reshape(y, flat), -1, 0, shape.back());
  };
  if (!zero.empty())
    w = c.add("Sub", {w, spread(zero)});
  c.give(0, c.add("Mul", {w, spread(scale)}));
  return c.done();
}

template <const char *const &op> LogicalResult linear(const Node &n) {
  Composer c(n);
  c.give(0, c.add(op, {c.in(0), c.in(1), c.in(2)},
                  {{"axis", n.integer("axis", 1)}}));
  return c.done();
}
constexpr const char *kQuantize = "QuantizeLinear",
                     *kDequantize = "DequantizeLinear";

constexpr std::pair<const char *, Row> all[] = {
    {"DequantizeLinear", linear<kDequantize>},
    {"GatherBlockQuantized", gatherBits},
    {"MatMulBnb4", matmulLevels},
    {"MatMulNBits", matmulBits},
    {"QuantizeLinear", linear<kQuantize>},
};

} // namespace
} // namespace integers

void addContribQuantizedRows(Rows &rows) {
  for (const auto &[op, row] : integers::all)
    rows[std::string("com.microsoft.") + op] = row;
}

} // namespace dlc::import
