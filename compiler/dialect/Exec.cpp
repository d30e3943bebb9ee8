#include "compiler/dialect/Exec.h"

using namespace mlir;

#include "compiler/dialect/ExecDialect.cpp.inc"

#define GET_OP_CLASSES
#include "compiler/dialect/ExecOps.cpp.inc"

namespace dlc::exec {

void ExecDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "compiler/dialect/ExecOps.cpp.inc"
      >();
}

static LogicalResult verifyStatic(Operation *op) {
  for (Value v : op->getOperands())
    if (!cast<MemRefType>(v.getType()).hasStaticShape())
      return op->emitOpError("expected buffers of static shape, found ")
             << v.getType();
  return success();
}

LogicalResult LaunchOp::verify() {
  if ((int64_t)getExtent() < 0 || (int64_t)getGrain() < 1)
    return emitOpError(
        "expected an extent of zero or more and a grain of one or more");
  return verifyStatic(*this);
}
LogicalResult CallOp::verify() { return verifyStatic(*this); }

} // namespace dlc::exec
