// reduce_sum, reduce_mean, reduce_max, reduce_min and argmax on scalars.
#include "compiler/codegen/cpu/Loops.h"
#include "compiler/dialect/Dlc.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using Values = dlc::Loops::Values;

namespace dlc {

Reduction::Reduction(const KernelGraph &graph, const KernelNode *node)
    : node(node), graph(graph) {}

bool Reduction::isArgMax() const { return isa<ir::ArgMaxOp>(node->op()); }
Type Reduction::type() const {
  return computeType(ir::elementType(node->children.front()->value));
}
SmallVector<Type> Reduction::types() const {
  if (isArgMax())
    return {type(), IntegerType::get(type().getContext(), 64)};
  return {type()};
}

/// The value below (or above) all others.
static Value extreme(ScalarEmitter &e, Type type, bool lowest) {
  if (auto f = dyn_cast<FloatType>(type))
    return arith::ConstantOp::create(
        e.b, e.loc,
        e.b.getFloatAttr(type, APFloat::getInf(f.getFloatSemantics(), lowest)));
  unsigned width = type.getIntOrFloatBitWidth();
  APInt value = width == 1 ? APInt(1, !lowest)
                : lowest   ? APInt::getSignedMinValue(width)
                           : APInt::getSignedMaxValue(width);
  return arith::ConstantOp::create(e.b, e.loc, e.b.getIntegerAttr(type, value));
}

Values Reduction::initial(ScalarEmitter &e) const {
  if (isArgMax())
    return {extreme(e, type(), true), e.constant(0)};
  if (isa<ir::ReduceMaxOp, ir::ReduceMinOp>(node->op()))
    return {extreme(e, type(), isa<ir::ReduceMaxOp>(node->op()))};
  return {e.number(type(), 0)};
}

/// Order may change and products may be fused; NaN and infinity keep their
/// meaning.
static arith::FastMathFlags reorder() {
  using F = arith::FastMathFlags;
  return F::reassoc | F::contract | F::nsz;
}

static Values argMax(ScalarEmitter &e, ValueRange state, Value x, Value index) {
  OpBuilder &b = e.b;
  Value better;
  if (isa<FloatType>(x.getType())) {
    using P = arith::CmpFPredicate;
    auto compare = [&](P p, Value l, Value r) {
      return arith::CmpFOp::create(b, e.loc, p, l, r);
    };
    Value first = arith::AndIOp::create(b, e.loc, compare(P::UNO, x, x),
                                        compare(P::ORD, state[0], state[0]));
    better =
        arith::OrIOp::create(b, e.loc, compare(P::OGT, x, state[0]), first);
  } else {
    auto greater = x.getType().isInteger(1) ? arith::CmpIPredicate::ugt
                                            : arith::CmpIPredicate::sgt;
    better = arith::CmpIOp::create(b, e.loc, greater, x, state[0]);
  }
  return {arith::SelectOp::create(b, e.loc, better, x, state[0]),
          arith::SelectOp::create(b, e.loc, better, index, state[1])};
}

Values Reduction::combine(ScalarEmitter &e, ValueRange state) const {
  OpBuilder &b = e.b;
  Operation *op = node->op();
  Value x = e.emit(node->children.front()), old = state[0];
  bool isFloat = isa<FloatType>(type()), isBool = type().isInteger(1);
  if (isArgMax()) {
    IndexForm index;
    for (unsigned v = 0; v < graph.variables.size(); ++v)
      if (graph.variables[v].reduced)
        index = IndexForm::variable(v);
    return argMax(e, state, x, e.emit(index));
  }
  if (isa<ir::ReduceMaxOp>(op)) {
    if (isFloat)
      return {arith::MaximumFOp::create(b, e.loc, old, x,
                                        arith::FastMathFlags::nsz)};
    return {isBool ? Value(arith::OrIOp::create(b, e.loc, old, x))
                   : Value(arith::MaxSIOp::create(b, e.loc, old, x))};
  }
  if (isa<ir::ReduceMinOp>(op)) {
    if (isFloat)
      return {arith::MinimumFOp::create(b, e.loc, old, x,
                                        arith::FastMathFlags::nsz)};
    return {isBool ? Value(arith::AndIOp::create(b, e.loc, old, x))
                   : Value(arith::MinSIOp::create(b, e.loc, old, x))};
  }
  if (isFloat)
    return {arith::AddFOp::create(b, e.loc, old, x, reorder())};
  return {arith::AddIOp::create(b, e.loc, old, x)};
}

Value Reduction::result(ScalarEmitter &e, ValueRange state) const {
  if (isArgMax())
    return state[1];
  if (!isa<ir::ReduceMeanOp>(node->op()))
    return state[0];
  Value n = e.number(type(), (double)graph.extent(/*reduced=*/true));
  return isa<FloatType>(type())
             ? Value(arith::DivFOp::create(e.b, e.loc, state[0], n))
             : Value(arith::DivSIOp::create(e.b, e.loc, state[0], n));
}

} // namespace dlc
