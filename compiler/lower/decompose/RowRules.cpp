// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/decompose/RowRules.h"
#include "compiler/dialect/Expr.h"
#include "compiler/lower/Marks.h"
#include "compiler/lower/memory/StateLayout.h"

using namespace mlir;
using dlc::ir::Ints;
using dlc::ir::tensorType;

namespace dlc {
namespace {

bool isSoftmax(Operation *op) {
  return isa<ir::SoftmaxOp, ir::LogSoftmaxOp, ir::SoftmaxBackwardOp,
             ir::LogSoftmaxBackwardOp>(op);
}
bool isBroadcasting(Operation *op) {
  return isa<ir::ElementwiseInterface, ir::BroadcastOp>(op);
}
int64_t axisOf(Operation *op) {
  return op->getAttrOfType<IntegerAttr>("axis").getInt();
}
RowRule allRows(Operation *op) {
  return {SmallVector<Part, 4>(op->getNumOperands(), Part::Rows),
          SmallVector<Part, 2>(op->getNumResults(), Part::Rows)};
}

} // namespace

int64_t RowRules::leading(RankedTensorType t) const {
  int64_t n = 1;
  for (int64_t i = 0; i < t.getRank() && n <= rows; ++i)
    if ((n *= t.getDimSize(i)) == rows)
      return i + 1;
  return 0;
}

RankedTensorType RowRules::partOf(RankedTensorType t, int64_t count) const {
  SmallVector<int64_t> shape{count};
  llvm::append_range(shape, t.getShape().drop_front(leading(t)));
  return t.clone(shape);
}

Value RowRules::slice(OpBuilder &builder, Location loc, Value v, int64_t first,
                      int64_t count) const {
  auto part = partOf(tensorType(v), count);
  SmallVector<int64_t> all(part.getShape()), starts(part.getRank(), 0),
      steps(part.getRank(), 1);
  all[0] = rows;
  starts[0] = first;
  ir::Expr x = ir::Expr(builder, loc, v).reshape(all);
  ir::Expr slice = x.make<ir::SliceOp>(x.v, starts, part.getShape(), steps);
  const int64_t before = byteSize(part) / count * first;
  if (before % kAlignment == 0)
    slice.v.getDefiningOp()->setAttr(kInPlace, builder.getUnitAttr());
  return slice;
}

/// An operand has the result's rows, or is the same for all rows.
std::optional<RowRule> RowRules::ofBroadcasting(Operation *op) const {
  auto to = tensorType(op->getResult(0));
  const int64_t dims = leading(to);
  if (!dims)
    return std::nullopt;
  RowRule rule{{}, {Part::Rows}};
  for (Value v : op->getOperands()) {
    auto from = tensorType(v);
    const int64_t missing = to.getRank() - from.getRank();
    bool same = true, ones = true;
    for (int64_t i = 0; i < dims; ++i) {
      const int64_t size = i < missing ? 1 : from.getDimSize(i - missing);
      same &= size == to.getDimSize(i);
      ones &= size == 1;
    }
    same &= leading(from) == dims - missing;
    if (!same && !ones)
      return std::nullopt;
    rule.operands.push_back(same ? Part::Rows : Part::Whole);
  }
  return rule;
}

/// A reduction within rows, or over all rows.
std::optional<RowRule> RowRules::ofReduction(ir::ReductionInterface op) const {
  const int64_t dims = leading(tensorType(op->getOperand(0)));
  Ints axes = op.reducedAxes();
  if (!dims || axes.empty())
    return std::nullopt;
  if (axes.front() >= dims)
    return RowRule{{Part::Rows}, {Part::Rows}};
  if (isa<ir::ReduceSumOp>(op) && axes == Ints(ir::axesBetween(0, dims)))
    return RowRule{{Part::Rows}, {Part::Sum}};
  return std::nullopt;
}

/// A row times a matrix, or a sum of products of rows: a weight's gradient.
std::optional<RowRule> RowRules::ofProduct(ir::MatmulOp op) const {
  auto a = tensorType(op.getA()), b = tensorType(op.getB());
  if (b.getRank() != 2)
    return std::nullopt;
  if (!op.getTransA() && leading(a) == a.getRank() - 1) {
    RowRule rule{{Part::Rows, Part::Whole}, {Part::Rows}};
    if (op.getBias())
      rule.operands.push_back(Part::Whole);
    return rule;
  }
  if (op.getTransA() && !op.getTransB() && !op.getBias() && a.getRank() == 2 &&
      a.getDimSize(0) == rows)
    return RowRule{{Part::Rows, Part::Rows}, {Part::Sum}};
  return std::nullopt;
}

std::optional<RowRule> RowRules::of(Operation *op) const {
  if (isBroadcasting(op) && op->getNumResults() == 1)
    return ofBroadcasting(op);
  if (auto reduction = dyn_cast<ir::ReductionInterface>(op))
    return ofReduction(reduction);
  if (auto product = dyn_cast<ir::MatmulOp>(op))
    return ofProduct(product);
  auto isOfRows = [&](Value v) { return leading(tensorType(v)) != 0; };
  const bool known =
      isa<ir::ReshapeOp, ir::SoftmaxCrossEntropyOp,
          ir::SoftmaxCrossEntropyBackwardOp>(op) ||
      (isSoftmax(op) && axisOf(op) >= leading(tensorType(op->getResult(0))));
  if (known && llvm::all_of(op->getOperands(), isOfRows) &&
      llvm::all_of(op->getResults(), isOfRows))
    return allRows(op);
  return std::nullopt;
}

SmallVector<Value> RowRules::build(OpBuilder &builder, Operation *op,
                                   const RowRule &rule,
                                   ArrayRef<Value> operands,
                                   int64_t count) const {
  if (isa<ir::ReshapeOp>(op)) {
    ir::Expr x(builder, op->getLoc(), operands[0]);
    auto type = partOf(tensorType(op->getResult(0)), count);
    return {x.reshape(type.getShape())};
  }
  Operation *made = builder.clone(*op);
  made->setOperands(operands);
  const bool isOfRows = rule.results.front() == Part::Rows;
  for (Value r : made->getResults())
    if (isOfRows)
      r.setType(partOf(tensorType(r), count));
  builder.setInsertionPoint(made);
  if (isBroadcasting(op)) { // [1, 1, n] becomes [n]
    const int64_t inRow = tensorType(made->getResult(0)).getRank() - 1;
    for (auto [part, use] : llvm::zip(rule.operands, made->getOpOperands())) {
      ir::Expr x(builder, op->getLoc(), use.get());
      if (part == Part::Whole && x.rank() > inRow)
        use.set(x.reshape(x.shape().take_back(inRow)));
    }
  }
  builder.setInsertionPointAfter(made);
  const int64_t fewer = leading(tensorType(op->getOperand(0))) - 1;
  if (isSoftmax(op))
    made->setAttr("axis", builder.getI64IntegerAttr(axisOf(op) - fewer));
  auto reduction = dyn_cast<ir::ReductionInterface>(made);
  if (!reduction)
    return SmallVector<Value>(made->getResults());
  SmallVector<int64_t> axes;
  for (int64_t axis : reduction.reducedAxes())
    if (isOfRows || axis == 0)
      axes.push_back(axis - (isOfRows ? fewer : 0));
  reduction.setReducedAxes(axes);
  Value y = made->getResult(0);
  if (isOfRows)
    return {y};
  auto whole = tensorType(y);
  SmallVector<int64_t> shape;
  if (reduction.keepsAxes())
    shape.push_back(1);
  llvm::append_range(
      shape, tensorType(op->getOperand(0)).getShape().drop_front(fewer + 1));
  y.setType(whole.clone(shape));
  return {ir::Expr(builder, op->getLoc(), y).reshape(whole.getShape())};
}

} // namespace dlc
