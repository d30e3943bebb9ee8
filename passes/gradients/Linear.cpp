// SPDX-License-Identifier: Apache-2.0
// Gradients of matrix products, convolutions and pooling.
#include "compiler/dialect/ops/Matrices.h"
#include "compiler/dialect/ops/Windows.h"
#include "passes/Gradients.h"
#include "passes/autocast/FloatProducts.h"
#include "passes/gradients/Rows.h"

using namespace mlir;

namespace dlc::ir {
namespace {

/// A gradient's product of `dy` and another operand; in 8-bit floats dy is of
/// E5M2, whose range is larger.
Expr gradientProduct(Gradient<MatmulOp> &g, Expr a, Expr b, bool transA,
                     bool transB, bool isLeft) {
  Expr y = matmul(a, b, transA, transB);
  if (isForwardFloat8(g.op))
    setFloat8(y.v.getDefiningOp<MatmulOp>(), isLeft ? "e5m2" : "e4m3",
              isLeft ? "e4m3" : "e5m2");
  return y;
}

/// With A and B after transposition, y = A B: dA = dy B^T and dB = A^T dy,
/// transposed back.
Expr gradientOfA(Gradient<MatmulOp> &g, Expr a, Expr b) {
  bool ta = g.op.getTransA(), tb = g.op.getTransB();
  Expr da = ta ? gradientProduct(g, b, g.dy, tb, true, false)
               : gradientProduct(g, g.dy, b, false, !tb, true);
  return sumTo(da, a.shape());
}
Expr gradientOfB(Gradient<MatmulOp> &g, Expr a, Expr b) {
  bool ta = g.op.getTransA(), tb = g.op.getTransB();
  Expr dy = g.dy;
  if (b.rank() == 2 && a.rank() > 2 && !ta) { // one product sums over the batch
    a = rows(a);
    dy = rows(dy);
  }
  Expr db = tb ? gradientProduct(g, dy, a, true, ta, true)
               : gradientProduct(g, a, dy, !ta, false, false);
  return sumTo(db, b.shape());
}
Values matmul(Gradient<MatmulOp> &g) {
  Expr a = g.operand(0), b = g.operand(1);
  Values values{gradientOfA(g, a, b), gradientOfB(g, a, b)};
  if (Value bias = g.op.getBias())
    values.push_back(sumTo(g.dy, tensorType(bias).getShape()));
  return values;
}

Expr groupedProduct(Expr x, Value w, Value groups, bool transW) {
  return x.make<GroupedMatmulOp>(x.v, w, groups, transW);
}
Values groupedMatmul(Gradient<GroupedMatmulOp> &g) {
  GroupedMatmulOp op = g.op;
  Value dx = groupedProduct(g.dy, op.getW(), op.getGroups(), !op.getTransW());
  Value dw = GroupedMatmulBackwardWeightOp::create(
      g.builder, op.getLoc(), op.getW().getType(), op.getX(), g.dy,
      op.getGroups(), op.getTransW());
  return {dx, dw, Value()};
}
/// The op is bilinear, as the product is.
Values groupedMatmulBackwardWeight(Gradient<GroupedMatmulBackwardWeightOp> &g) {
  auto op = g.op;
  Value dx =
      groupedProduct(g.operand(1), g.dy, op.getGroups(), !op.getTransW());
  Value ddy =
      groupedProduct(g.operand(0), g.dy, op.getGroups(), op.getTransW());
  return {dx, ddy, Value()};
}

Values conv(Gradient<ConvOp> &g) {
  ConvOp op = g.op;
  Location loc = op.getLoc();
  Value dx = ConvBackwardDataOp::create(
      g.builder, loc, op.getX().getType(), g.dy, op.getW(), op.getStrides(),
      op.getPads(), op.getDilations(), op.getGroup(), op.getLayout(),
      op.getFiltersLast());
  Value dw = ConvBackwardFilterOp::create(
      g.builder, loc, op.getW().getType(), op.getX(), g.dy, op.getStrides(),
      op.getPads(), op.getDilations(), op.getGroup(), op.getLayout(),
      op.getFiltersLast());
  Values values{dx, dw};
  if (op.getBias()) {
    const ImageDims dims = imageDims(op, op.getY());
    SmallVector<int64_t> axes = axesBetween(0, dims.rank);
    axes.erase(axes.begin() + dims.channel());
    values.push_back(g.dy.sum(axes));
  }
  return values;
}

/// Gradients of a transposed convolution, which is the data gradient of a
/// convolution: that convolution, and its filter gradient with the two images
/// exchanged.
Values convBackwardData(Gradient<ConvBackwardDataOp> &g) {
  ConvBackwardDataOp op = g.op;
  Location loc = op.getLoc();
  Value dx =
      ConvOp::create(g.builder, loc, op.getDy().getType(), g.dy, op.getW(),
                     Value(), op.getStrides(), op.getPads(), op.getDilations(),
                     op.getGroup(), op.getLayout(), op.getFiltersLast());
  Value dw = ConvBackwardFilterOp::create(
      g.builder, loc, op.getW().getType(), g.dy, op.getDy(), op.getStrides(),
      op.getPads(), op.getDilations(), op.getGroup(), op.getLayout(),
      op.getFiltersLast());
  return {dx, dw};
}

Values maxPool(Gradient<MaxPoolOp> &g) {
  MaxPoolOp op = g.op;
  return g.first(MaxPoolBackwardOp::create(
      g.builder, op.getLoc(), op.getX().getType(), g.dy, op.getIndex(),
      op.getKernel(), op.getStrides(), op.getPads(), op.getDilations(),
      op.getLayout()));
}

Values avgPool(Gradient<AvgPoolOp> &g) {
  AvgPoolOp op = g.op;
  return g.first(AvgPoolBackwardOp::create(
      g.builder, op.getLoc(), op.getX().getType(), g.dy, op.getKernel(),
      op.getStrides(), op.getPads(), op.getDilations(), op.getLayout(),
      op.getCountIncludePad()));
}

} // namespace
} // namespace dlc::ir

using namespace dlc::ir;

void dlc::attachLinearGradients(MLIRContext &c) {
  grad<MatmulOp>(c, [](auto &g) { return matmul(g); });
  grad<GroupedMatmulOp>(c, [](auto &g) { return groupedMatmul(g); });
  grad<GroupedMatmulBackwardWeightOp>(
      c, [](auto &g) { return groupedMatmulBackwardWeight(g); });
  grad<ConvOp>(c, [](auto &g) { return conv(g); });
  grad<ConvBackwardDataOp>(c, [](auto &g) { return convBackwardData(g); });
  grad<MaxPoolOp>(c, [](auto &g) { return maxPool(g); });
  grad<AvgPoolOp>(c, [](auto &g) { return avgPool(g); });
}
