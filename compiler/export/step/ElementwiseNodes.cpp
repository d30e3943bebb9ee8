// SPDX-License-Identifier: Apache-2.0
// Elementwise ops and reductions. ONNX broadcasts like dlc.
#include "compiler/export/step/StepNodes.h"
#include "runtime/base/numbers/Philox.h"

#include <limits>

using namespace mlir;

namespace dlc::exporter {
namespace {

void addUnary(StepRows &rows) {
  rows.same<ir::NegOp, ir::AbsOp, ir::SignOp, ir::FloorOp, ir::CeilOp,
            ir::RoundOp, ir::ExpOp, ir::LogOp, ir::SqrtOp, ir::ReciprocalOp,
            ir::TanhOp, ir::SigmoidOp, ir::ReluOp, ir::ErfOp, ir::SinOp,
            ir::CosOp, ir::AtanOp, ir::SoftplusOp>();
  rows.named<ir::StopGradientOp, ir::ScaleGradientOp>("Identity");
  rows.on<ir::RsqrtOp>([](StepNodes &s, ir::RsqrtOp op) {
    std::string root = s.graph.add("Sqrt", {s.wide(op.getX())});
    s.round(op, s.graph.add("Reciprocal", {root}));
  });
  rows.on<ir::IsFiniteOp>([](StepNodes &s, ir::IsFiniteOp op) {
    const Type type = wideType(ir::elementType(op.getX()));
    const double infinity = std::numeric_limits<double>::infinity();
    s.set(op, s.graph.add("Less", {s.graph.add("Abs", {s.wide(op.getX())}),
                                   s.graph.number(infinity, type)}));
  });
  rows.on<ir::CastOp>([](StepNodes &s, ir::CastOp op) {
    s.set(op, s.graph.cast(s.raw(op.getX()), ir::elementType(op)));
  });
}

/// With the constants of the scalar's body, in compiler/dialect/Bodies.cpp.
void addGelu(StepNodes &s, ir::GeluOp op) {
  StepGraph &g = s.graph;
  const Type type = wideType(ir::elementType(op));
  const std::string x = s.wide(op.getX());
  auto number = [&](double value) { return g.number(value, type); };
  std::string inner;
  if (op.getTanh()) {
    std::string cube = g.add("Mul", {x, g.add("Mul", {x, x})});
    std::string sum = g.add("Add", {x, g.add("Mul", {cube, number(0.044715)})});
    inner = g.add("Tanh", {g.add("Mul", {sum, number(0.79788456080286536)})});
  } else {
    inner = g.add("Erf", {g.add("Mul", {x, number(0.70710678118654752)})});
  }
  s.round(op, g.add("Mul", {g.add("Mul", {x, number(0.5)}),
                            g.add("Add", {inner, number(1)})}));
}

void addLerp(StepNodes &s, ir::LerpOp op) {
  StepGraph &g = s.graph;
  const Type type = wideType(ir::elementType(op));
  const std::string a = s.wide(op.getA()), b = s.wide(op.getB()),
                    t = s.wide(op.getT());
  const std::string distance = g.add("Sub", {b, a});
  const std::string rest = g.add("Sub", {g.number(1, type), t});
  const std::string isNear =
      g.add("Less", {g.add("Abs", {t}), g.number(0.5, type)});
  s.round(op, g.add("Where",
                    {isNear, g.add("Add", {a, g.add("Mul", {t, distance})}),
                     g.add("Sub", {b, g.add("Mul", {distance, rest})})}));
}

void addCompare(StepNodes &s, ir::CompareOp op) {
  static const char *const nodes[] = {
      "Equal", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"};
  std::string y = s.graph.add(nodes[unsigned(op.getPredicate())],
                              {s.wide(op.getA()), s.wide(op.getB())});
  if (op.getPredicate() == ir::Predicate::ne)
    y = s.graph.add("Not", {y});
  s.set(op, y);
}

/// On booleans; on integers bitwise.
template <class OpTy> void addLogical(StepRows &rows, const char *node) {
  rows.on<OpTy>([node](StepNodes &s, OpTy op) {
    const bool isBool = ir::elementType(op->getResult(0)).isInteger(1);
    Names operands;
    for (Value v : op->getOperands())
      operands.push_back(s.raw(v));
    s.set(op,
          s.graph.add(isBool ? node : std::string("Bitwise") + node, operands));
  });
}

void addBinary(StepRows &rows) {
  rows.same<ir::AddOp, ir::SubOp, ir::MulOp, ir::DivOp, ir::PowOp, ir::MaxOp,
            ir::MinOp>();
  addLogical<ir::AndOp>(rows, "And");
  addLogical<ir::OrOp>(rows, "Or");
  addLogical<ir::NotOp>(rows, "Not");
  rows.on<ir::SelectOp>([](StepNodes &s, ir::SelectOp op) {
    s.round(op, s.graph.add("Where", {s.raw(op.getCondition()),
                                      s.wide(op.getA()), s.wide(op.getB())}));
  });
}

/// Without axes ONNX would reduce all dimensions.
template <class OpTy>
std::string reduced(StepNodes &s, OpTy op, const char *node) {
  const std::string x = s.wide(op.getX());
  if (op.getAxes().empty())
    return x;
  return s.graph.add(node, {x, s.graph.ints(op.getAxes())},
                     {{"keepdims", int64_t(op.getKeepdims())}});
}
template <class... OpTys> void addReduces(StepRows &rows) {
  (rows.on<OpTys>([](StepNodes &s, OpTys op) {
    const auto node = import::operatorLike(OpTys::getOperationName());
    s.round(op, reduced(s, op, node.c_str()));
  }),
   ...);
}

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

void addElementwiseRows(StepRows &rows) {
  addUnary(rows);
  addBinary(rows);
  rows.on<ir::GeluOp>(addGelu);
  rows.on<ir::LerpOp>(addLerp);
  rows.on<ir::CompareOp>(addCompare);
  rows.neverInF64<ir::ErfOp, ir::AtanOp, ir::SoftplusOp>();
  addReduces<ir::ReduceSumOp, ir::ReduceMeanOp, ir::ReduceMaxOp,
             ir::ReduceMinOp>(rows);
  rows.on<ir::ArgMaxOp>([](StepNodes &s, ir::ArgMaxOp op) {
    s.set(op, s.graph.add("ArgMax", {s.wide(op.getX())},
                          {{"axis", op.getAxes().front()},
                           {"keepdims", int64_t(op.getKeepdims())}}));
  });
}

void addRandomRows(StepRows &rows) { rows.on<ir::UniformOp>(addUniform); }

} // namespace dlc::exporter
