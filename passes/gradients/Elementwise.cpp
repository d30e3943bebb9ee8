// SPDX-License-Identifier: Apache-2.0
// Elementwise gradients, one expression per operand. The common code sums over
// broadcast dimensions, skips integer operands and, in a `wide` row, computes
// in f32 for 16-bit floats so that only the result is rounded.
#include "mlir/IR/Matchers.h"
#include "passes/Gradients.h"
#include "passes/gradients/Rows.h"
#include <numbers>

using namespace mlir;

namespace dlc::ir {
namespace {

/// The variables of an expression: x (or a) and b, c are the operands, y the
/// result, dy its gradient.
template <class OpTy> struct Scalars {
  OpTy op;
  Expr dy, y, x, a, b, c;
};

template <class OpTy, bool isWide, class... Rules>
void attach(MLIRContext &context, Rules...) {
  grad<OpTy>(context, [](auto &g) {
    auto at = [&](unsigned i) {
      Expr e = i < g.op->getNumOperands() ? g.operand(i) : g.expr({});
      return isWide && e.v ? wide(e) : e;
    };
    Expr dy = isWide ? wide(g.dy) : g.dy, y = isWide ? wide(g.y) : g.y;
    Scalars<OpTy> s{g.op, dy, y, at(0), at(0), at(1), at(2)};
    Values values;
    auto add = [&](auto rule) {
      Expr operand = g.operand(values.size());
      Type element = operand.element();
      Expr dx = g.expr({});
      if (isa<FloatType>(element))
        dx = rule(s);
      values.push_back(dx.v ? sumTo(dx, operand.shape()).cast(element).v
                            : Value());
    };
    (add(Rules{}), ...);
    return values;
  });
}
template <class OpTy, class... Rules>
void row(MLIRContext &context, Rules... rules) {
  attach<OpTy, false>(context, rules...);
}
template <class OpTy, class... Rules>
void wideRow(MLIRContext &context, Rules... rules) {
  attach<OpTy, true>(context, rules...);
}

std::optional<double> splat(Value v) {
  DenseElementsAttr dense;
  if (!matchPattern(v, m_Constant(&dense)) || !dense.isSplat())
    return std::nullopt;
  return dense.getSplatValue<APFloat>().convertToDouble();
}

Expr zeroWhere(Expr condition, Expr x) { return select(condition, 0, x); }
Expr when(Predicate p, Expr a, Expr b, Expr x) {
  return zeroWhere(compare(p, a, b), x);
}
/// dy where x wins the comparison, dy / 2 at a tie; `loses` is the predicate by
/// which x loses against other. At a tie with a number x gets nothing, as of
/// PyTorch's clamp and relu6.
Expr toWinner(Predicate loses, Expr x, Expr other, Expr dy) {
  if (splat(other) && tensorType(other).getNumElements() == 1)
    return when(loses == Predicate::lt ? Predicate::le : Predicate::ge, x,
                other, dy);
  Expr shared = select(x == other, dy * 0.5, dy);
  return when(loses, x, other, shared);
}

/// d/da a^b. A constant exponent of two, the most frequent one, needs no pow.
Expr powBase(Expr dy, Expr a, Expr b, Value exponent) {
  if (auto c = splat(exponent))
    return *c == 2   ? dy * (a * 2.0)
           : *c == 0 ? dy * 0.0
                     : dy * (*c * pow(a, a.scalar(*c - 1)));
  return dy * when(Predicate::eq, b, b.scalar(0), b * pow(a, b - 1.0));
}
/// d/db a^b, zero where a = 0 <= b, as in PyTorch.
Expr powExponent(Expr dy, Expr a, Expr b, Expr y, Value exponent) {
  if (matchPattern(exponent, m_Constant()))
    return Expr(*dy.b, dy.loc, {});
  Expr atZero = both(a == 0, b >= 0);
  return dy * zeroWhere(atZero, y * log(a));
}

} // namespace
} // namespace dlc::ir

using namespace dlc::ir;

void dlc::attachElementwiseGradients(MLIRContext &c) {
  row<NegOp>(c, [](auto &g) { return -g.dy; });
  row<AbsOp>(c, [](auto &g) { return g.dy * sign(g.x); });
  row<ExpOp>(c, [](auto &g) { return g.dy * g.y; });
  row<LogOp>(c, [](auto &g) { return g.dy / g.x; });
  row<SinOp>(c, [](auto &g) { return g.dy * cos(g.x); });
  row<CosOp>(c, [](auto &g) { return -(g.dy * sin(g.x)); });
  wideRow<AtanOp>(c, [](auto &g) { return g.dy / (g.x * g.x + 1.0); });
  row<ReluOp>(c, [](auto &g) {
    return g.dy.template make<ReluBackwardOp>(g.dy.v, g.y.v);
  });
  row<RoundOp>(c, [](auto &g) {
    return g.op->hasAttr(kStraightThrough) ? g.dy : Expr(*g.dy.b, g.dy.loc, {});
  });
  row<ScaleGradientOp>(
      c, [](auto &g) { return g.dy * g.op.getFactor().convertToDouble(); });
  row<CastOp>(c, [](auto &g) { return g.dy.cast(elementType(g.op.getX())); });
  wideRow<SqrtOp>(c, [](auto &g) { return g.dy / (g.y * 2.0); });
  wideRow<RsqrtOp>(c, [](auto &g) { return g.dy * -0.5 * (g.y * g.y * g.y); });
  wideRow<ReciprocalOp>(c, [](auto &g) { return -(g.dy * g.y * g.y); });
  wideRow<TanhOp>(c, [](auto &g) { return g.dy * (1.0 - g.y * g.y); });
  wideRow<SigmoidOp>(c, [](auto &g) { return g.dy * (1.0 - g.y) * g.y; });
  wideRow<SoftplusOp>(c, [](auto &g) { return g.dy * sigmoid(g.x); });
  wideRow<ErfOp>(c, [](auto &g) {
    return g.dy * exp(-(g.x * g.x)) * (2 * std::numbers::inv_sqrtpi);
  });
  row<GeluOp>(c, [](auto &g) {
    return g.dy.template make<GeluBackwardOp>(g.dy.v, g.x.v, g.op.getTanh());
  });

  row<AddOp>(
      c, [](auto &g) { return g.dy; }, [](auto &g) { return g.dy; });
  row<SubOp>(
      c, [](auto &g) { return g.dy; }, [](auto &g) { return -g.dy; });
  row<MulOp>(
      c, [](auto &g) { return g.dy * g.b; },
      [](auto &g) { return g.dy * g.a; });
  wideRow<DivOp>(
      c, [](auto &g) { return g.dy / g.b; },
      [](auto &g) { return -(g.dy * g.y / g.b); });
  wideRow<PowOp>(
      c, [](auto &g) { return powBase(g.dy, g.a, g.b, g.op.getB()); },
      [](auto &g) { return powExponent(g.dy, g.a, g.b, g.y, g.op.getB()); });
  row<MaxOp>(
      c, [](auto &g) { return toWinner(Predicate::lt, g.a, g.b, g.dy); },
      [](auto &g) { return toWinner(Predicate::lt, g.b, g.a, g.dy); });
  row<MinOp>(
      c, [](auto &g) { return toWinner(Predicate::gt, g.a, g.b, g.dy); },
      [](auto &g) { return toWinner(Predicate::gt, g.b, g.a, g.dy); });
  row<SelectOp>(
      c, [](auto &g) { return g.dy; },
      [](auto &g) { return select(g.a, g.dy, 0); },
      [](auto &g) { return zeroWhere(g.a, g.dy); });

  noGradient<SignOp, FloorOp, CeilOp, NotOp, IsFiniteOp, AndOp, OrOp, CompareOp,
             BitCastOp, DynamicEncodeOp, DynamicDecodeOp, StopGradientOp>(c);
}
