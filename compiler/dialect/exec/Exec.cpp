// SPDX-License-Identifier: Apache-2.0
#include "compiler/dialect/Exec.h"
#include "compiler/dialect/Dlc.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

#include "compiler/dialect/ExecDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/dialect/ExecAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "compiler/dialect/ExecOps.cpp.inc"

namespace dlc::exec {

void ExecDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/dialect/ExecAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/dialect/ExecOps.cpp.inc"
      >();
}

//===--- places -----------------------------------------------------------===//

LogicalResult RegionOp::verify() {
  if (!llvm::is_contained({"state", "gradient", "scratch", "host"}, getKind()))
    return emitOpError("(C1) expected the kind state, gradient, scratch or "
                       "host, found '")
           << getKind() << "'";
  if ((int64_t)getBytes() < 0)
    return emitOpError("(C2) expected no fewer than 0 bytes, found ")
           << (int64_t)getBytes();
  return success();
}

/// Constraints of a range of a region.
static LogicalResult verifyPlace(Operation *op, SymbolTableCollection &symbols,
                                 FlatSymbolRefAttr name, int64_t offset,
                                 ShapedType type) {
  if (!type.hasStaticShape())
    return op->emitOpError("(C1) expected a static shape, found ") << type;
  auto region = symbols.lookupNearestSymbolFrom<RegionOp>(op, name);
  if (!region)
    return op->emitOpError("(C2) there is no region ") << name;
  const int64_t bytes =
      type.getNumElements() *
      llvm::divideCeil(type.getElementType().getIntOrFloatBitWidth(), 8);
  if (offset < 0 || offset + bytes > (int64_t)region.getBytes())
    return op->emitOpError("(C2) expected ")
           << bytes << " bytes at " << offset << " to lie in the "
           << (int64_t)region.getBytes() << " of " << name;
  return success();
}

LogicalResult StateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto type = dyn_cast<ShapedType>(getType());
  if (!type || !type.getElementType().isIntOrFloat())
    return emitOpError("(C1) expected a static shape, found ") << getType();
  if (failed(verifyPlace(*this, symbols, getRegionAttr(), getOffset(), type)))
    return failure();
  if (getOf() && !symbols.lookupNearestSymbolFrom<StateOp>(*this, getOfAttr()))
    return emitOpError("(C3) there is no state ") << getOfAttr();
  return success();
}
LogicalResult BufferOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyPlace(*this, symbols, getRegionAttr(), getOffset(), getType());
}

LogicalResult PartOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto region =
      symbols.lookupNearestSymbolFrom<RegionOp>(*this, getRegionAttr());
  const auto begin = int64_t(getOffset()), bytes = int64_t(getBytes());
  if (!region || begin < 0 || bytes < 0 ||
      begin + bytes > int64_t(region.getBytes()))
    return emitOpError("(C1) expected a range of a region, found ")
           << bytes << " bytes at " << begin << " of " << getRegionAttr();
  return success();
}
LogicalResult PartOp::verify() {
  const auto bytes = int64_t(getBytes()), item = int64_t(getItem()),
             extent = int64_t(getExtent());
  if (item < 1 || extent < 1 ||
      llvm::divideCeil(bytes, item) > uint64_t(extent))
    return emitOpError("(C2) expected ")
           << bytes << " bytes in " << extent << " items of " << item;
  return success();
}

//===--- kernels and commands ---------------------------------------------===//

/// Whether each part of a body only reads arguments, values that it computes
/// and, after exec.last, outputs.
static bool areParts(Block &body) {
  OperandRange outputs = body.getTerminator()->getOperands();
  const bool hasLast = !body.getOps<LastOp>().empty();
  llvm::DenseMap<Operation *, int64_t> parts;
  int64_t part = 0;
  for (Operation &op : body.without_terminator()) {
    part += isa<LastOp, BesideOp>(op);
    parts[&op] = part;
    for (Value v : op.getOperands())
      if (Operation *made = v.getDefiningOp();
          made && parts.lookup(made) != part &&
          !(hasLast && llvm::is_contained(outputs, v)))
        return false;
  }
  return !hasLast || part == 1;
}

LogicalResult KernelOp::verify() {
  Block &body = getBody().front();
  if (body.empty() || !isa<ir::YieldOp>(body.back()))
    return emitOpError("(C1) expected dlc.yield at the end of the body");
  if (getThreads() && !getSchedule())
    return emitOpError("(C9) has threads without a schedule");
  if (!areParts(body))
    return emitOpError("(C10) expected one exec.last, behind which outputs are "
                       "read, or parts beside each other");
  return success();
}
LogicalResult ProgramOp::verify() {
  if ((int64_t)getScratchBytes() < 0)
    return emitOpError("(C1) expected no fewer than 0 bytes, found ")
           << (int64_t)getScratchBytes();
  return success();
}
LogicalResult PortOp::verify() {
  if (getDirection() != "input" && getDirection() != "output")
    return emitOpError("(C1) expected the direction input or output, found '")
           << getDirection() << "'";
  if ((int64_t)getLimit() < 0)
    return emitOpError("(C2) expected a limit of 0 or more, found ")
           << (int64_t)getLimit();
  if (getFromEnd() && getLimit() == 0)
    return emitOpError("(C3) expected a limit beside from_end");
  return success();
}

/// Whether buffers hold tensors of these types.
static bool hold(ValueRange buffers, TypeRange tensors) {
  return llvm::equal(buffers, tensors, [](Value buffer, Type type) {
    auto tensor = dyn_cast<ShapedType>(type);
    auto memory = cast<MemRefType>(buffer.getType());
    return tensor && tensor.getShape() == memory.getShape() &&
           tensor.getElementType() == memory.getElementType();
  });
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel =
      symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError("(C1) there is no kernel ") << getKernelAttr();
  Block &body = kernel.getBody().front();
  if (!hold(getInputs(), body.getArgumentTypes()) ||
      (!body.empty() && !hold(getOutputs(), body.back().getOperandTypes())))
    return emitOpError("(C2) expected buffers of what ")
           << getKernelAttr() << " takes and yields";
  return success();
}

LogicalResult CallOp::verify() {
  if ((int64_t)getFlops() < 0)
    return emitOpError("(C1) expected 0 or more operations, found ")
           << (int64_t)getFlops();
  return success();
}
LogicalResult CopyOp::verify() {
  if (getFrom().getType() != getTo().getType())
    return emitOpError("(C1) expected buffers of one type, found ")
           << getFrom().getType() << " and " << getTo().getType();
  return success();
}

static LogicalResult verifyBucket(Operation *op, int64_t bucket) {
  if (bucket < 0)
    return op->emitOpError("(C1) expected a bucket of 0 or more, found ")
           << bucket;
  return success();
}
LogicalResult AllReduceOp::verify() {
  if (getOp() != "mean" && getOp() != "sum")
    return emitOpError("(C2) expected mean or sum, found ") << getOp();
  return verifyBucket(*this, getBucket());
}
LogicalResult WaitOp::verify() { return verifyBucket(*this, getBucket()); }

//===--- copies to the host and back --------------------------------------===//

static LogicalResult verifyHostCopy(Operation *op, Value from, Value to,
                                    int64_t copy) {
  if (from.getType() != to.getType())
    return op->emitOpError("(C1) expected buffers of one type, found ")
           << from.getType() << " and " << to.getType();
  if (copy < 0)
    return op->emitOpError("(C2) expected a copy of 0 or more, found ") << copy;
  return success();
}
static LogicalResult verifyHostPlaces(Operation *op, Value device, Value host,
                                      StringRef which,
                                      SymbolTableCollection &symbols) {
  auto isOnHost = [&](Value v) {
    auto buffer = v.getDefiningOp<BufferOp>();
    auto region = buffer ? symbols.lookupNearestSymbolFrom<RegionOp>(
                               op, buffer.getRegionAttr())
                         : RegionOp();
    return region && region.getKind() == "host";
  };
  if (isOnHost(device) || !isOnHost(host))
    return op->emitOpError("(C3) expected one buffer in the memory of the "
                           "host, the ")
           << which;
  return success();
}
LogicalResult OffloadOp::verify() {
  return verifyHostCopy(*this, getFrom(), getTo(), getCopy());
}
LogicalResult FetchOp::verify() {
  return verifyHostCopy(*this, getFrom(), getTo(), getCopy());
}
LogicalResult OffloadOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyHostPlaces(*this, getFrom(), getTo(), "second", symbols);
}
LogicalResult FetchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyHostPlaces(*this, getTo(), getFrom(), "first", symbols);
}
LogicalResult WaitCopyOp::verify() {
  if ((int64_t)getCopy() < 0)
    return emitOpError("(C1) expected a copy of 0 or more, found ")
           << (int64_t)getCopy();
  return success();
}

} // namespace dlc::exec
