// SPDX-License-Identifier: Apache-2.0
// Verifiers of gradients whose result types do not follow from operands, and of
// ops with any number of operands.
#include "compiler/dialect/Infer.h"

using namespace mlir;

namespace dlc::ir {
namespace {

/// Checks that `dy` has the type of the result of the convolution of x and w.
template <class Op> LogicalResult checkConv(Op op, Value x, Value w, Value dy) {
  SmallVector<int64_t> shape;
  if (failed(convShape(op.getLoc(), tensorType(x), tensorType(w),
                       windowOf(op, tensorType(w).getShape()), op.getLayout(),
                       op.getFiltersLast(), op.getGroup(), shape)) ||
      failed(sameElements(op.getLoc(), "(C5)", {x, w, dy})) ||
      failed(expectShape(op.getLoc(), "(C9)", dy, shape)))
    return failure();
  return expectConvBy(op.getLoc(), "(C10)", op.getBy());
}

/// Checks that each of `behind` has the type of the pooling's result for x.
template <class Op> LogicalResult checkPool(Op op, Value x, ValueRange behind) {
  SmallVector<int64_t> shape;
  if (failed(poolShape(op.getLoc(), tensorType(x), windowOf(op), op.getLayout(),
                       shape)))
    return failure();
  for (Value v : behind)
    if (failed(expectShape(op.getLoc(), "(C5)", v, shape)))
      return failure();
  return expectCallOrOps(op.getLoc(), "(C6)", op.getBy());
}

template <class Op> LogicalResult checkScalarOfMany(Op op) {
  if (op.getXs().empty())
    return op.emitOpError("(C1) expected at least one operand");
  if (tensorType(op.getY()).getRank() != 0)
    return op.emitOpError("(C2) expected a scalar result, found ")
           << op.getY().getType();
  return expectCallOrOps(op.getLoc(), "(C3)", op.getBy());
}

} // namespace

LogicalResult ConvBackwardDataOp::verify() {
  return checkConv(*this, getDx(), getW(), getDy());
}
LogicalResult ConvBackwardFilterOp::verify() {
  return checkConv(*this, getX(), getDw(), getDy());
}
LogicalResult MaxPoolBackwardOp::verify() {
  return checkPool(*this, getDx(), {getDy(), getIndex()});
}
LogicalResult AvgPoolBackwardOp::verify() {
  return checkPool(*this, getDx(), getDy());
}

LogicalResult ScatterAddOp::verify() {
  auto y = tensorType(getY());
  const int64_t axis = getAxis();
  if (failed(expectAxis(getLoc(), "(C1)", axis, y)) ||
      failed(sameElements(getLoc(), "(C2)", {getY(), getUpdates()})) ||
      failed(expectCallOrOps(getLoc(), "(C4)", getBy())))
    return failure();
  SmallVector<int64_t> shape(y.getShape().take_front(axis));
  llvm::append_range(shape, tensorType(getIndices()).getShape());
  llvm::append_range(shape, y.getShape().drop_front(axis + 1));
  return expectShape(getLoc(), "(C3)", getUpdates(), shape);
}

LogicalResult GroupedMatmulBackwardWeightOp::verify() {
  MaybeLoc loc = getLoc();
  auto x = tensorType(getX()), dy = tensorType(getDy()),
       dw = tensorType(getDw());
  if (failed(checkGroups(getLoc(), getX(), getGroups(), getBy())))
    return failure();
  if (dw.getRank() != 3 || dy.getRank() != 2 ||
      dy.getDimSize(0) != x.getDimSize(0) ||
      dw.getDimSize(getTransW() ? 2 : 1) != x.getDimSize(1) ||
      dw.getDimSize(getTransW() ? 1 : 2) != dy.getDimSize(1))
    return emitOptionalError(loc, "(C3) ", x, " and ", dy, " have no gradient ",
                             dw);
  return sameElements(getLoc(), "(C4)", {getX(), getDy(), getDw()});
}

LogicalResult PutRowsOp::verify() {
  if (failed(expectRows(getLoc(), "(C1)", "(C2)", getRows(), getValues(),
                        tensorType(getX()))))
    return failure();
  return expectCallOrKernel(getLoc(), "(C3)", getBy());
}

LogicalResult AllFiniteOp::verify() { return checkScalarOfMany(*this); }
LogicalResult GlobalNormOp::verify() { return checkScalarOfMany(*this); }

} // namespace dlc::ir
