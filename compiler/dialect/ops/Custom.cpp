// SPDX-License-Identifier: Apache-2.0
#include "compiler/dialect/ops/Custom.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "compiler/dialect/Custom.cpp.inc"

namespace dlc::ir {

void registerCustom(DlcDialect &dialect) {
  RegisteredOperationName::insert<CustomOp>(dialect);
}

LogicalResult CustomOp::verify() {
  if (getLibrary().empty() || getDomain().empty() || getOp().empty())
    return emitOpError("(C1) expected the names of a library and of an "
                       "operator with its domain");
  if (getBackward() && getDifferentiable())
    return emitOpError("(C2) expected a backward call that is not "
                       "differentiable");
  return success();
}

/// Unknown; estimated as one operation per element.
int64_t CustomOp::countFlops() {
  int64_t n = 0;
  for (Value y : getOutputs())
    n += tensorType(y).getNumElements();
  return n;
}

} // namespace dlc::ir
