// SPDX-License-Identifier: Apache-2.0
// Philox in ONNX's integers, so that dropout draws the same numbers as in dlc.
#include "compiler/export/step/StepNodes.h"
#include "runtime/base/numbers/Philox.h"

using namespace mlir;

namespace dlc::exporter {
namespace {

constexpr int kUnsigned = 13; // TensorProto.UINT64

/// 32-bit words in i64. Shifts are in u64, the only type that ONNX supports.
struct Words {
  StepGraph &g;
  Type i64;

  std::string number(uint32_t value) const { return g.number(value, i64); }
  std::string low(const std::string &x) const {
    return g.add("BitwiseAnd", {x, number(0xffffffff)});
  }
  std::string unsignedOf(const std::string &x) const {
    return g.add("Cast", {x}, {{"to", int64_t(kUnsigned)}});
  }
  std::string high(const std::string &x) const {
    return g.add("Cast",
                 {g.add("BitShift", {unsignedOf(x), unsignedOf(number(32))},
                        {{"direction", "RIGHT"}})},
                 {{"to", int64_t(onnxType(i64))}});
  }
  std::string product(const std::string &x, uint32_t by) const {
    return g.add("Mul", {x, number(by)});
  }
  std::string sum(const std::string &x, uint32_t more) const {
    return low(g.add("Add", {x, number(more)}));
  }
  std::string mixed(const std::string &a, const std::string &b,
                    const std::string &c) const {
    return g.add("BitwiseXor", {g.add("BitwiseXor", {a, b}), c});
  }
};

/// As the scalar's body in compiler/dialect/Bodies.cpp.
void addUniform(StepNodes &s, ir::UniformOp op) {
  StepGraph &g = s.graph;
  const Words w{g, IntegerType::get(op.getContext(), 64)};
  const std::string position = s.raw(op.getPosition()),
                    draw = s.raw(op.getDraw()), key = s.raw(op.getKey());
  Names c{w.low(position), w.high(position), w.low(draw), w.high(draw)};
  Names k{w.low(key), w.high(key)};
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const std::string a = w.product(c[0], kPhiloxM0),
                      b = w.product(c[2], kPhiloxM1);
    c = {w.mixed(w.high(b), c[1], k[0]), w.low(b),
         w.mixed(w.high(a), c[3], k[1]), w.low(a)};
    k = {w.sum(k[0], kPhiloxW0), w.sum(k[1], kPhiloxW1)};
  }
  const auto unit = [&](const std::string &word) {
    const Type f32 = Float32Type::get(op.getContext());
    std::string top = g.add("Div", {word, w.number(1 << 8)});
    return g.add("Mul", {g.cast(top, f32), g.number(0x1p-24, f32)});
  };
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    if (!result.use_empty())
      s.set(result,
            g.add("Expand",
                  {unit(c[i]), g.ints(ir::tensorType(result).getShape())}));
}

} // namespace

void addRandomRows(StepRows &rows) { rows.on<ir::UniformOp>(addUniform); }

} // namespace dlc::exporter
