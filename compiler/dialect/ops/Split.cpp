// SPDX-License-Identifier: Apache-2.0
#include "compiler/dialect/ops/Split.h"

using namespace mlir;
using llvm::LogicalResult;

#define GET_OP_CLASSES
#include "compiler/dialect/Split.cpp.inc"

namespace dlc::ir {
namespace {

LogicalResult checkParts(Operation *op, Value shard, Value whole) {
  if (tensorType(shard).getShape() != tensorType(whole).getShape() ||
      elementType(shard) != elementType(whole))
    return op->emitOpError("(C1) expected one shape and element type, found ")
           << shard.getType() << " and " << whole.getType();
  if (splitOf(whole))
    return op->emitOpError("(C2) expected a whole tensor, found ")
           << whole.getType();
  return success();
}
LogicalResult checkSplit(Operation *op, Value shard,
                         SymbolTableCollection &symbols) {
  auto of = splitOf(shard);
  auto state =
      of ? symbols.lookupNearestSymbolFrom<StateOp>(op, of) : StateOp();
  if (!state || state.getRole() != Role::param ||
      state.getTensorType().getShape() != tensorType(shard).getShape())
    return op->emitOpError("(C3) expected a part as of a parameter of that "
                           "shape, found ")
           << shard.getType();
  return success();
}

LogicalResult checkCounts(Operation *op, int64_t words) {
  if (op->getNumOperands() == 0 ||
      !llvm::all_of(op->getOperands(), [](Value v) { return splitOf(v); }))
    return op->emitOpError("(C1) expected shards");
  if (tensorType(op->getResult(0)).getShape() != ArrayRef(words))
    return op->emitOpError("(C2) expected ")
           << words << " integers, found " << op->getResult(0).getType();
  return success();
}
LogicalResult checkOfCounts(Operation *op, int64_t words) {
  if (tensorType(op->getOperand(0)).getShape() != ArrayRef(words))
    return op->emitOpError("(C1) expected ")
           << words << " integers, found " << op->getOperand(0).getType();
  if (tensorType(op->getResult(0)).getRank() != 0)
    return op->emitOpError("(C2) expected a scalar, found ")
           << op->getResult(0).getType();
  return success();
}

int64_t elementsOf(ValueRange xs) {
  int64_t n = 0;
  for (Value x : xs)
    n += tensorType(x).getNumElements();
  return n;
}

} // namespace

LogicalResult TakeShardOp::verify() {
  return checkParts(*this, getY(), getX());
}
LogicalResult ReduceScatterOp::verify() {
  return checkParts(*this, getY(), getX());
}
LogicalResult AllGatherOp::verify() {
  return checkParts(*this, getX(), getY());
}
LogicalResult TakeShardOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return checkSplit(*this, getY(), symbols);
}
LogicalResult
ReduceScatterOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return checkSplit(*this, getY(), symbols);
}
LogicalResult AllGatherOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return checkSplit(*this, getX(), symbols);
}

LogicalResult SquareSumsOp::verify() {
  return checkCounts(*this, kWordsOfSquares);
}
LogicalResult CountNonfiniteOp::verify() {
  return checkCounts(*this, kWordsOfCount);
}
LogicalResult NormOfSquaresOp::verify() {
  return checkOfCounts(*this, kWordsOfSquares);
}
LogicalResult NoneCountedOp::verify() {
  return checkOfCounts(*this, kWordsOfCount);
}
int64_t SquareSumsOp::countFlops() { return 2 * elementsOf(getXs()); }
int64_t CountNonfiniteOp::countFlops() { return elementsOf(getXs()); }
int64_t NormOfSquaresOp::countFlops() { return 0; }
int64_t NoneCountedOp::countFlops() { return 0; }

LogicalResult StateOp::verify() {
  auto split = splitOf(getType());
  if (split && split != getOfAttr() && split.getValue() != getSymName())
    return emitOpError("(C1) is split as ") << split;
  return success();
}
LogicalResult FusedOp::verify() {
  FlatSymbolRefAttr of;
  for (Value y : getOutputs())
    if (auto split = splitOf(y))
      of = split;
  if (!of)
    return success();
  ArrayRef<int64_t> shape;
  for (ValueRange values : {ValueRange(getInputs()), ValueRange(getOutputs())})
    for (Value v : values) {
      ArrayRef<int64_t> own = tensorType(v).getShape();
      if (own.empty())
        continue;
      if (shape.empty())
        shape = own;
      if (own != shape || splitOf(v) != of)
        return emitOpError("(C1) expected shards of ")
               << of << " of one shape, found " << v.getType();
    }
  return success();
}

bool isOperandsMemory(Operation *op) { return isa<ReshapeOp, TakeShardOp>(op); }

void registerSplits(DlcDialect &dialect) {
  RegisteredOperationName::insert<TakeShardOp>(dialect);
  RegisteredOperationName::insert<ReduceScatterOp>(dialect);
  RegisteredOperationName::insert<AllGatherOp>(dialect);
  RegisteredOperationName::insert<SquareSumsOp>(dialect);
  RegisteredOperationName::insert<CountNonfiniteOp>(dialect);
  RegisteredOperationName::insert<NormOfSquaresOp>(dialect);
  RegisteredOperationName::insert<NoneCountedOp>(dialect);
}

} // namespace dlc::ir
