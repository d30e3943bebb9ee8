// SPDX-License-Identifier: Apache-2.0
#include "compiler/dialect/Epilogues.h"
#include "compiler/dialect/Infer.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "compiler/dialect/Epilogues.cpp.inc"

namespace dlc::ir {

void registerEpilogues(DlcDialect &dialect) {
  RegisteredOperationName::insert<MatmulActivationOp>(dialect);
  RegisteredOperationName::insert<MatmulBiasBackwardOp>(dialect);
}

//===--- laws -------------------------------------------------------------===//

namespace {

/// (C1) to (C3) and (C5) of all: y is the one product of matrices a @ b.
template <class Op> LogicalResult checkProduct(Op op, Value y) {
  auto a = tensorType(op.getA()), b = tensorType(op.getB());
  SmallVector<int64_t> shape;
  if (b.getRank() != 2 || a.getRank() < 2 ||
      (op.getTransA() && a.getRank() != 2))
    return op.emitOpError("(C1) expected one product of matrices, found ")
           << a << " and " << b;
  if (failed(productShape(op.getLoc(), a, b, op.getTransA(), op.getTransB(),
                          shape)) ||
      failed(expectShape(op.getLoc(), "(C3)", y, shape)))
    return failure();
  return sameElements(op.getLoc(), "(C5)", {op.getA(), op.getB(), y});
}

/// (C4), (C5): one value per column of `of`.
LogicalResult checkBias(Location loc, Value bias, int64_t columns, Value a) {
  if (!bias)
    return success();
  if (failed(expectShape(loc, "(C4)", bias, {columns})))
    return failure();
  return sameElements(loc, "(C5)", {a, bias});
}

int64_t columnsOf(Value v) { return tensorType(v).getShape().back(); }

} // namespace

LogicalResult MatmulActivationOp::verify() {
  if (failed(checkProduct(*this, getY())) ||
      failed(checkBias(getLoc(), getBias(), columnsOf(getY()), getA())))
    return failure();
  if (getActivation() != "gelu_tanh")
    return emitOpError("(C6) expected activation gelu_tanh, found ")
           << getActivation();
  if (getKept().getType() != getY().getType())
    return emitOpError("(C7) expected `kept` of type ")
           << getY().getType() << ", found " << getKept().getType();
  return success();
}
LogicalResult MatmulBiasBackwardOp::verify() {
  if (failed(checkProduct(*this, getY())))
    return failure();
  if (tensorType(getA()).getRank() != 2)
    return emitOpError("(C7) expected a of rank 2, found ") << getA().getType();
  const bool isA = getOf() == "a" && getTransA(),
             isB = getOf() == "b" && !getTransB();
  if (!isA && !isB)
    return emitOpError("(C6) expected `of` to be a, transposed, or b, which is "
                       "not, found ")
           << getOf();
  return checkBias(getLoc(), getDbias(), columnsOf(isA ? getA() : getB()),
                   getA());
}

//===--- cost -------------------------------------------------------------===//

static int64_t productFlops(Value a, bool transA, Value y) {
  return 2 * tensorType(y).getNumElements() *
         tensorType(a).getShape().end()[transA ? -2 : -1];
}

int64_t MatmulActivationOp::countFlops() {
  return productFlops(getA(), getTransA(), getY());
}
int64_t MatmulBiasBackwardOp::countFlops() {
  return productFlops(getA(), getTransA(), getY());
}

} // namespace dlc::ir
