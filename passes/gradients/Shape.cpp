// SPDX-License-Identifier: Apache-2.0
// Gradients of movement ops move elements back.
#include "passes/Gradients.h"
#include "passes/gradients/Rows.h"

using namespace mlir;

namespace dlc::ir {
namespace {

using Shape = SmallVector<int64_t>;

Shape ones(int64_t rank) { return Shape(rank, 1); }

Values transpose(Gradient<TransposeOp> &g) {
  Shape inverse(g.op.getPerm().size());
  for (auto [i, p] : llvm::enumerate(g.op.getPerm()))
    inverse[p] = i;
  return g.first(g.dy.make<TransposeOp>(g.dy.v, inverse));
}

/// Elements return to where they were taken from, with zeros between them.
/// Dimensions with a negative step are reversed first.
Values slice(Gradient<SliceOp> &g) {
  Ints from = g.operand(0).shape(), sizes = g.op.getSizes();
  Shape starts(g.op.getStarts()), steps(g.op.getSteps());
  Shape turnStarts(from.size(), 0), turnSteps = ones(from.size());
  Shape high, interior;
  bool turns = false;
  for (size_t i = 0; i < from.size(); ++i) {
    if (steps[i] < 0 && sizes[i] > 0) {
      turns = true;
      turnStarts[i] = sizes[i] - 1;
      turnSteps[i] = -1;
      starts[i] += (sizes[i] - 1) * steps[i];
      steps[i] = -steps[i];
    }
    if (sizes[i] == 0) {
      starts[i] = 0;
      steps[i] = 1;
    }
    interior.push_back(steps[i] - 1);
    int64_t span = sizes[i] ? (sizes[i] - 1) * steps[i] + 1 : 0;
    high.push_back(from[i] - starts[i] - span);
  }
  Expr dy = g.dy;
  if (turns)
    dy = dy.make<SliceOp>(dy.v, turnStarts, sizes, turnSteps);
  return g.first(
      dy.make<PadOp>(dy.v, starts, high, interior, llvm::APFloat(0.0)));
}

Values pad(Gradient<PadOp> &g) {
  Shape steps;
  for (int64_t n : g.op.getInterior())
    steps.push_back(n + 1);
  return g.first(
      g.dy.make<SliceOp>(g.dy.v, g.op.getLow(), g.operand(0).shape(), steps));
}

Values concat(Gradient<ConcatOp> &g) {
  Values values;
  Shape starts(g.dy.rank(), 0);
  for (Value x : g.op.getXs()) {
    Ints shape = tensorType(x).getShape();
    values.push_back(
        g.dy.make<SliceOp>(g.dy.v, starts, shape, ones(g.dy.rank())));
    starts[g.op.getAxis()] += shape[g.op.getAxis()];
  }
  return values;
}

/// dy without the contributions of the padding index, which may be given as a
/// positive or a negative number.
Expr withoutPadding(Gradient<GatherOp> &g) {
  auto padding = g.op.getPadding();
  if (!padding)
    return g.dy;
  Expr index = g.operand(1);
  int64_t axis = g.op.getAxis(), size = g.operand(0).shape()[axis];
  Shape shape(g.dy.rank(), 1);
  llvm::copy(index.shape(), shape.begin() + axis);
  auto isSlice = [&](int64_t slice) { return index == slice; };
  const int64_t slice = *padding;
  Expr first = isSlice(slice), second = isSlice(slice - size);
  Expr hit = either(first, second).reshape(shape);
  Expr everywhere =
      hit.make<BroadcastOp>(hit.type().clone(g.dy.shape()), hit.v);
  return select(everywhere, 0, g.dy);
}

} // namespace
} // namespace dlc::ir

using namespace dlc::ir;

void dlc::attachShapeGradients(MLIRContext &c) {
  grad<ReshapeOp>(
      c, [](auto &g) { return g.first(g.dy.reshape(g.operand(0).shape())); });
  grad<BroadcastOp>(
      c, [](auto &g) { return g.first(sumTo(g.dy, g.operand(0).shape())); });
  grad<TransposeOp>(c, [](auto &g) { return transpose(g); });
  grad<SliceOp>(c, [](auto &g) { return slice(g); });
  grad<PadOp>(c, [](auto &g) { return pad(g); });
  grad<ConcatOp>(c, [](auto &g) { return concat(g); });
  grad<GatherOp>(c, [](auto &g) {
    return g.first(g.dy.template make<ScatterAddOp>(
        g.op.getData().getType(), g.op.getIndices(), withoutPadding(g).v,
        g.op.getAxis()));
  });
  grad<ScatterAddOp>(c, [](auto &g) {
    return Values{Value(),
                  g.dy.template make<GatherOp>(g.dy.v, g.op.getIndices(),
                                               g.op.getAxis(), IntegerAttr())};
  });
}
