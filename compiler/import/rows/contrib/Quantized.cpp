// SPDX-License-Identifier: Apache-2.0
// Quantised operators of com.microsoft: what their numbers stand for goes
// through the float operator, and is quantised again.
#include "compiler/import/rows/contrib/Compose.h"
#include "compiler/import/tensor/DataType.h"
#include "onnx-ml.pb.h"
#include <fmt/format.h>

using namespace mlir;

namespace dlc::import {
namespace quantized {
namespace {

using Names = std::vector<std::string>;

/// Inputs i, i + 1 and i + 2: numbers, their scale and zero point.
std::string real(Composer &c, size_t i) {
  return c.add("DequantizeLinear", {c.in(i), c.in(i + 1), c.in(i + 2)});
}

/// Output 0, by the scale and zero point that inputs i and i + 1 are; of the
/// type of input `like` where there is no zero point.
LogicalResult give(Composer &c, const std::string &y, size_t i, size_t like) {
  std::vector<Setting> settings;
  if (!c.n.has(i + 1))
    settings.emplace_back("output_dtype", int64_t(c.n.onnxType(like)));
  c.give(0, c.add("QuantizeLinear", {y, c.in(i), c.in(i + 1)}, settings));
  return c.done();
}

template <const char *const &op> LogicalResult binary(const Node &n) {
  Composer c(n);
  std::string a = real(c, 0), b = real(c, 3);
  return give(c, c.add(op, {a, b}), 6, 0);
}
constexpr const char *kAdd = "Add", *kMul = "Mul";

LogicalResult sigmoid(const Node &n) {
  Composer c(n);
  return give(c, c.add("Sigmoid", {real(c, 0)}), 3, 0);
}

LogicalResult leakyRelu(const Node &n) {
  Composer c(n);
  return give(
      c, c.add("LeakyRelu", {real(c, 0)}, {{"alpha", n.number("alpha", 0.01)}}),
      3, 0);
}

LogicalResult softmax(const Node &n) {
  Composer c(n);
  std::string x = real(c, 0);
  const Shape shape = c.shape(x);
  auto axis = n.axis("axis", 0, int64_t(shape.size()));
  if (failed(axis))
    return failure();
  if (n.integer("opset", 13) >= 13)
    return give(c, c.add("Softmax", {x}, {{"axis", *axis}}), 3, 0);
  x = c.add("Softmax", {c.add("Flatten", {x}, {{"axis", *axis}})},
            {{"axis", int64_t(-1)}});
  return give(c, c.reshape(x, shape), 3, 0);
}

LogicalResult reduceMean(const Node &n) {
  Composer c(n);
  std::string axes = c.integers(n.integers("axes", {}));
  std::string y = c.add("ReduceMean", {real(c, 0), axes},
                        {{"keepdims", n.integer("keepdims", 1)}});
  return give(c, y, 3, 0);
}

/// f(x [N, C, D...]) where the operator may have its channels last.
template <typename F>
std::string channelsFirst(Composer &c, std::string x, F &&f) {
  const int64_t rank = int64_t(c.shape(x).size());
  if (!c.n.integer("channels_last", 0) || rank < 3)
    return f(x);
  std::vector<int64_t> in{0, rank - 1}, out{0};
  for (int64_t i = 1; i < rank - 1; ++i)
    in.push_back(i);
  for (int64_t i = 2; i < rank; ++i)
    out.push_back(i);
  out.push_back(1);
  return c.transpose(f(c.transpose(x, in)), out);
}

LogicalResult globalAveragePool(const Node &n) {
  Composer c(n);
  std::string y = channelsFirst(c, real(c, 0), [&](const std::string &x) {
    return c.add("GlobalAveragePool", {x});
  });
  return give(c, y, 3, 0);
}

/// The node's attributes of a window, as they are.
std::vector<Setting> windowSettings(const Node &n) {
  std::vector<Setting> settings;
  for (const char *name : {"kernel_shape", "strides", "pads", "dilations"})
    if (n.has(name))
      settings.emplace_back(name, n.integers(name));
  for (const char *name : {"ceil_mode", "count_include_pad", "group"})
    if (n.has(name))
      settings.emplace_back(name, n.integer(name, 0));
  for (const char *mode : {"SAME_UPPER", "SAME_LOWER", "VALID"})
    if (n.text("auto_pad", "NOTSET") == mode)
      settings.emplace_back("auto_pad", mode);
  return settings;
}

LogicalResult averagePool(const Node &n) {
  Composer c(n);
  std::string y = channelsFirst(c, real(c, 0), [&](const std::string &x) {
    return c.add("AveragePool", {x}, windowSettings(n));
  });
  return give(c, y, 3, 0);
}

LogicalResult convolution(const Node &n) {
  Composer c(n);
  std::string y = channelsFirst(c, c.in(0), [&](const std::string &x) {
    Names inputs{x};
    for (size_t i = 1; i < 9; ++i)
      inputs.push_back(c.in(i));
    return c.add("QLinearConv", inputs, windowSettings(n));
  });
  c.give(0, y);
  return c.done();
}

LogicalResult concat(const Node &n) {
  Composer c(n);
  Names parts;
  for (size_t i = 2; i + 2 < n.inputs(); i += 3)
    parts.push_back(real(c, i));
  if (parts.empty())
    return c.fail("expected inputs to join");
  return give(c, c.join(parts, n.integer("axis", 0)), 0, 2);
}

LogicalResult where(const Node &n) {
  Composer c(n);
  std::string a = real(c, 1), b = real(c, 4);
  return give(c, c.add("Where", {c.in(0), a, b}), 7, 1);
}

/// A product of integers by its scales, as floats.
std::string scaled(Composer &c, const std::string &product,
                   const std::string &a, const std::string &b) {
  std::string scale = c.add("Mul", {a, b});
  return c.add("Mul", {c.add("CastLike", {product, scale}), scale});
}

LogicalResult matmulToFloat(const Node &n) {
  Composer c(n);
  std::string y = c.add("MatMulInteger", {c.in(0), c.in(1), c.in(4), c.in(5)});
  y = scaled(c, y, c.in(2), c.in(3));
  c.give(0, c.sum(y, c.in(6)));
  return c.done();
}

LogicalResult dynamicMatmul(const Node &n) {
  Composer c(n);
  Names x = c.addAll("DynamicQuantizeLinear", {c.in(0)}, {}, 3);
  std::string y = c.add("MatMulInteger", {x[0], c.in(1), x[2], c.in(3)});
  c.give(0, c.sum(scaled(c, y, x[1], c.in(2)), c.in(4)));
  return c.done();
}

LogicalResult gemm(const Node &n) {
  Composer c(n);
  auto operand = [&](size_t i, const char *swap) {
    return n.integer(swap, 0) ? c.transpose(c.in(i), {1, 0}) : c.in(i);
  };
  std::string a = operand(0, "transA"), b = operand(3, "transB");
  std::string y = c.add("MatMulInteger", {a, b, c.in(2), c.in(5)});
  y = scaled(c, c.sum(y, c.in(6)), c.in(1), c.in(4));
  if (double alpha = n.number("alpha", 1); alpha != 1)
    y = c.add("Mul", {y, c.number(alpha, y)});
  if (n.has(7))
    return give(c, y, 7, 0);
  c.give(0, y);
  return c.done();
}

/// Numbers of `bits` packed in bytes, the lowest bits first, or the highest: a
/// further dimension.
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

/// The same, packed along the last dimension.
std::string unpacked(Composer &c, const std::string &x, int64_t bits,
                     bool highFirst = false) {
  Shape shape = c.shape(x);
  if (!shape.empty())
    shape.back() *= 8 / bits;
  return bits == 8 ? x : c.reshape(split(c, x, bits, highFirst), shape);
}

int64_t ceilOf(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// A B', with B [N, K] of few bits in blocks of K, each with a scale and a zero
/// point.
LogicalResult matmulBits(const Node &n) {
  const int64_t bits = n.integer("bits", 4), block = n.integer("block_size", 0),
                rows = n.integer("N", 0), size = n.integer("K", 0);
  if (bits != 2 && bits != 4 && bits != 8)
    return n.fail() << "bits is " << bits << ", expected 2, 4 or 8";
  if (block < 1 || rows < 1 || size < 1)
    return n.fail() << "expected N, K and block_size of 1 or more";
  if (n.integer("weight_prepacked", 0))
    return n.fail() << "weight_prepacked is not supported: weights are in the "
                       "order of one device";
  if (failed(refuseInputs(n, {4})))
    return failure();
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

/// The sixteen numbers of bitsandbytes' types of four bits.
const std::vector<double> &levelsOf(bool isNormal) {
  static const std::vector<double> normal{-1.0,
                                          -0.6961928009986877,
                                          -0.5250730514526367,
                                          -0.39491748809814453,
                                          -0.28444138169288635,
                                          -0.18477343022823334,
                                          -0.09105003625154495,
                                          0.0,
                                          0.07958029955625534,
                                          0.16093020141124725,
                                          0.24611230194568634,
                                          0.33791524171829224,
                                          0.44070982933044434,
                                          0.5626170039176941,
                                          0.7229568362236023,
                                          1.0};
  static const std::vector<double> floats{0,           5.208333333e-03,
                                          0.66666667,  1,
                                          0.33333333,  0.5,
                                          0.16666667,  0.25,
                                          0,           -5.208333333e-03,
                                          -0.66666667, -1,
                                          -0.33333333, -0.5,
                                          -0.16666667, -0.25};
  return isNormal ? normal : floats;
}

/// A B', with B [N, K] of such numbers in blocks, each with its largest.
LogicalResult matmulLevels(const Node &n) {
  const int64_t block = n.integer("block_size", 0), rows = n.integer("N", 0),
                size = n.integer("K", 0), count = rows * size;
  if (block < 1 || rows < 1 || size < 1 || count % 2 || count % block)
    return n.fail() << fmt::format(
               "N {} and K {} in blocks of {} are not supported", rows, size,
               block);
  Composer c(n);
  HostTensor table(DType::F32, {16});
  for (int64_t i = 0; i < 16; ++i)
    table.setNumber(i, levelsOf(n.integer("quant_type", 0))[size_t(i)]);
  std::string codes = unpacked(c, c.reshape(c.in(1), {count / 2}), 4, true);
  codes = c.castTo(codes, onnx::TensorProto::INT64);
  std::string w =
      c.add("Gather", {c.known(table), codes}, {{"axis", int64_t(0)}});
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

/// Rows of a table in few bits.
LogicalResult gatherBits(const Node &n) {
  Composer c(n);
  const Shape table = c.shape(c.in(0)), scales = c.shape(c.in(2));
  const int64_t rank = int64_t(table.size());
  auto axis = n.axis("quantize_axis", 1, rank);
  auto over = n.axis("gather_axis", 0, rank);
  if (failed(axis) || failed(over))
    return failure();
  if (*over != 0 || *axis != rank - 1 || rank < 2 ||
      scales.size() != table.size())
    return c.fail("expected gather_axis 0, quantize_axis the last one, and "
                  "scales of the rank of the data");
  const bool isPacked = n.onnxType(0) == onnx::TensorProto::UINT8;
  const int64_t bits = isPacked ? n.integer("bits", 4) : 8;
  if (bits != 2 && bits != 4 && bits != 8)
    return c.fail(fmt::format("bits is {}, expected 2, 4 or 8", bits));
  auto rows = [&](size_t i) {
    return c.add("Gather", {c.in(i), c.in(1)}, {{"axis", int64_t(0)}});
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
    {"DynamicQuantizeMatMul", dynamicMatmul},
    {"GatherBlockQuantized", gatherBits},
    {"MatMulBnb4", matmulLevels},
    {"MatMulIntegerToFloat", matmulToFloat},
    {"MatMulNBits", matmulBits},
    {"QGemm", gemm},
    {"QLinearAdd", binary<kAdd>},
    {"QLinearAveragePool", averagePool},
    {"QLinearConcat", concat},
    {"QLinearConv", convolution},
    {"QLinearGlobalAveragePool", globalAveragePool},
    {"QLinearLeakyRelu", leakyRelu},
    {"QLinearMul", binary<kMul>},
    {"QLinearReduceMean", reduceMean},
    {"QLinearSigmoid", sigmoid},
    {"QLinearSoftmax", softmax},
    {"QLinearWhere", where},
    {"QuantizeLinear", linear<kQuantize>},
};

} // namespace
} // namespace quantized

void addContribQuantizedRows(Rows &rows) {
  for (const auto &[op, row] : quantized::all)
    rows[std::string("com.microsoft.") + op] = row;
}

} // namespace dlc::import
