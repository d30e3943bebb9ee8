// SPDX-License-Identifier: Apache-2.0
// How elements are combined, on scalars. A matmul sums its products.
#include "compiler/kernel/scalar/Reduction.h"
#include "compiler/dialect/Dlc.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using State = dlc::Reduction::State;

namespace dlc {

Reduction::Reduction(const KernelGraph &graph, const KernelNode *node)
    : node(node), graph(graph) {}

ir::Combine Reduction::combination() const {
  auto op = dyn_cast<ir::ReductionInterface>(node->op());
  return op ? op.combine() : ir::Combine::sum;
}
bool Reduction::isArgMax() const {
  return combination() == ir::Combine::argmax;
}
Type Reduction::type() const {
  return computeType(ir::elementType(node->children.front()->value));
}
SmallVector<Type> Reduction::types(const ScalarEmitter &e) const {
  if (isArgMax())
    return {type(), e.indexType};
  return {type()};
}

/// The smallest (or largest) value of a type.
static Value extreme(ScalarEmitter &e, Type type, bool lowest) {
  if (auto f = dyn_cast<FloatType>(type))
    return arith::ConstantOp::create(
        e.b, e.loc,
        e.b.getFloatAttr(type, APFloat::getInf(f.getFloatSemantics(), lowest)));
  unsigned width = type.getIntOrFloatBitWidth();
  bool isUnsigned = width == 1 || width == 8; // bool, u8
  APInt value = isUnsigned ? lowest ? APInt::getMinValue(width)
                                    : APInt::getMaxValue(width)
                : lowest ? APInt::getSignedMinValue(width)
                           : APInt::getSignedMaxValue(width);
  return arith::ConstantOp::create(e.b, e.loc, e.b.getIntegerAttr(type, value));
}

State Reduction::initial(ScalarEmitter &e) const {
  switch (combination()) {
  case ir::Combine::argmax:
    return {extreme(e, type(), true), e.constant(0)};
  case ir::Combine::max:
    return {extreme(e, type(), true)};
  case ir::Combine::min:
    return {extreme(e, type(), false)};
  case ir::Combine::sum:
  case ir::Combine::mean:
    return {e.number(type(), 0)};
  }
  llvm_unreachable("no such combination");
}

/// Allows reassociation and contraction; NaN and infinity keep their meaning.
static arith::FastMathFlags reorder() {
  using F = arith::FastMathFlags;
  return F::reassoc | F::contract | F::nsz;
}

/// Whether x replaces `old`: it is greater, or the first NaN.
static Value isBetter(ScalarEmitter &e, Value x, Value old) {
  OpBuilder &b = e.b;
  if (isa<FloatType>(x.getType())) {
    using P = arith::CmpFPredicate;
    auto compare = [&](P p, Value l, Value r) {
      return arith::CmpFOp::create(b, e.loc, p, l, r);
    };
    return arith::AndIOp::create(b, e.loc, compare(P::UGT, x, old),
                                 compare(P::ORD, old, old));
  }
  auto greater = x.getType().isInteger(1) || x.getType().isInteger(8)
                     ? arith::CmpIPredicate::ugt
                     : arith::CmpIPredicate::sgt;
  return arith::CmpIOp::create(b, e.loc, greater, x, old);
}
static State choose(ScalarEmitter &e, Value better, ValueRange x,
                    ValueRange old) {
  State chosen;
  for (auto [l, r] : llvm::zip(x, old))
    chosen.push_back(arith::SelectOp::create(e.b, e.loc, better, l, r));
  return chosen;
}

State Reduction::combine(ScalarEmitter &e, ValueRange state) const {
  Value x = e.emit(node->children.front());
  if (!isArgMax())
    return {join(e, state[0], x)};
  IndexForm index;
  for (unsigned v = 0; v < graph.variables.size(); ++v)
    if (graph.variables[v].reduced)
      index = IndexForm::variable(v);
  return choose(e, isBetter(e, x, state[0]), {x, e.emit(index)}, state);
}

/// Of equal values the one with the lower index is kept, as in order.
State Reduction::merge(ScalarEmitter &e, ValueRange l, ValueRange r) const {
  if (!isArgMax())
    return {join(e, l[0], r[0])};
  OpBuilder &b = e.b;
  Value better = isBetter(e, r[0], l[0]), worse = isBetter(e, l[0], r[0]);
  Value lower =
      arith::CmpIOp::create(b, e.loc, arith::CmpIPredicate::slt, r[1], l[1]);
  Value no = arith::ConstantOp::create(b, e.loc, b.getBoolAttr(false));
  Value tie = arith::SelectOp::create(b, e.loc, worse, no, lower);
  return choose(e, arith::OrIOp::create(b, e.loc, better, tie), r, l);
}

Value Reduction::join(ScalarEmitter &e, Value old, Value x) const {
  OpBuilder &b = e.b;
  const ir::Combine how = combination();
  bool isFloat = isa<FloatType>(type()), isBool = type().isInteger(1),
       isByte = type().isInteger(8);
  if (how == ir::Combine::max) {
    if (isFloat)
      return arith::MaximumFOp::create(b, e.loc, old, x,
                                       arith::FastMathFlags::nsz);
    return isBool   ? Value(arith::OrIOp::create(b, e.loc, old, x))
           : isByte ? Value(arith::MaxUIOp::create(b, e.loc, old, x))
                    : Value(arith::MaxSIOp::create(b, e.loc, old, x));
  }
  if (how == ir::Combine::min) {
    if (isFloat)
      return arith::MinimumFOp::create(b, e.loc, old, x,
                                       arith::FastMathFlags::nsz);
    return isBool   ? Value(arith::AndIOp::create(b, e.loc, old, x))
           : isByte ? Value(arith::MinUIOp::create(b, e.loc, old, x))
                    : Value(arith::MinSIOp::create(b, e.loc, old, x));
  }
  return isFloat ? Value(arith::AddFOp::create(b, e.loc, old, x, reorder()))
                 : Value(arith::AddIOp::create(b, e.loc, old, x));
}

Value Reduction::result(ScalarEmitter &e, ValueRange state) const {
  if (isArgMax())
    return e.resize(state[1], ir::elementType(node->value));
  if (node->children.front()->kind == KernelNode::Product)
    return e.rounded(state[0], ir::elementType(node->value));
  if (combination() != ir::Combine::mean)
    return state[0];
  Value n = e.number(type(), (double)graph.extent(/*reduced=*/true));
  return isa<FloatType>(type())
             ? Value(arith::DivFOp::create(e.b, e.loc, state[0], n))
             : Value(arith::DivSIOp::create(e.b, e.loc, state[0], n));
}

} // namespace dlc
