#include "compiler/dialect/Epilogues.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "compiler/dialect/Epilogues.cpp.inc"

namespace dlc::ir {

void registerEpilogues(DlcDialect &dialect) {
  RegisteredOperationName::insert<MatmulActivationOp>(dialect);
  RegisteredOperationName::insert<MatmulActivationBackwardOp>(dialect);
  RegisteredOperationName::insert<MatmulBiasBackwardOp>(dialect);
}

static int64_t productFlops(Value a, bool transA, Value y) {
  return 2 * tensorType(y).getNumElements() *
         tensorType(a).getShape().end()[transA ? -2 : -1];
}

int64_t MatmulActivationOp::countFlops() {
  return productFlops(getA(), getTransA(), getY());
}
int64_t MatmulActivationBackwardOp::countFlops() {
  return productFlops(getA(), getTransA(), getDx());
}
int64_t MatmulBiasBackwardOp::countFlops() {
  return productFlops(getA(), getTransA(), getY());
}

} // namespace dlc::ir
