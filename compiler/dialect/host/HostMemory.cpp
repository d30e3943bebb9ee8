// SPDX-License-Identifier: Apache-2.0
#include "compiler/dialect/host/HostMemory.h"

using namespace mlir;
using llvm::LogicalResult;

#define GET_OP_CLASSES
#include "compiler/dialect/HostMemory.cpp.inc"

namespace dlc::ir {

constexpr StringLiteral kHost = "host";

bool isOnHost(Type type) {
  auto where =
      dyn_cast_or_null<StringAttr>(cast<RankedTensorType>(type).getEncoding());
  return where && where == kHost;
}

RankedTensorType hostType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType(),
                               StringAttr::get(type.getContext(), kHost));
}

static LogicalResult checkHostCopy(Operation *op, Value device, Value host) {
  if (tensorType(device).getShape() != tensorType(host).getShape() ||
      elementType(device) != elementType(host))
    return op->emitOpError("(C1) expected one shape and element type, found ")
           << op->getOperand(0).getType() << " and "
           << op->getResult(0).getType();
  if (isOnHost(device) || !isOnHost(host))
    return op->emitOpError("(C2) expected a copy ")
           << (host == op->getResult(0) ? "to" : "from") << " the host, found "
           << op->getOperand(0).getType() << " and "
           << op->getResult(0).getType();
  return success();
}

LogicalResult OffloadOp::verify() {
  return checkHostCopy(*this, getX(), getY());
}
LogicalResult FetchOp::verify() { return checkHostCopy(*this, getY(), getX()); }

LogicalResult WaitCopyOp::verify() {
  Operation *copy = getStarted().getDefiningOp();
  if (!isa_and_nonnull<OffloadOp, FetchOp>(copy) ||
      copy->getOperand(0) != getSource())
    return emitOpError("(C1) expected the result of dlc.offload or dlc.fetch, "
                       "and its operand");
  if (getY().getType() != getStarted().getType())
    return emitOpError("(C2) expected ")
           << getStarted().getType() << ", found " << getY().getType();
  return success();
}

void registerHostMemory(DlcDialect &dialect) {
  RegisteredOperationName::insert<OffloadOp>(dialect);
  RegisteredOperationName::insert<FetchOp>(dialect);
  RegisteredOperationName::insert<WaitCopyOp>(dialect);
}

} // namespace dlc::ir
