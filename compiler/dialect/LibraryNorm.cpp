// SPDX-License-Identifier: Apache-2.0
#include "compiler/dialect/LibraryNorm.h"
#include "compiler/dialect/Infer.h"

using namespace mlir;
using llvm::LogicalResult;

namespace dlc::ir {
namespace {

/// (C1), (C2): images with channels last, and vectors of their channels.
LogicalResult expectChannels(MaybeLoc loc, Value x, ValueRange perChannel) {
  auto tx = tensorType(x);
  if (!ImageDims::areImages(tx.getRank()))
    return emitOptionalError(loc, "(C1) expected images, found x of type ", tx);
  for (Value v : perChannel)
    if (tensorType(v).getShape() != tx.getShape().take_back())
      return emitOptionalError(loc, "(C2) expected one value for each of ",
                               tx.getShape().back(), " channels, found ",
                               v.getType());
  return success();
}

/// dx, dscale and dbias.
template <class Adaptor> LogicalResult gradients(Adaptor a, Types &types) {
  types.append(
      {a.getX().getType(), a.getScale().getType(), a.getScale().getType()});
  return success();
}

LogicalResult inferFusedBatchNorm(MaybeLoc loc, FusedBatchNormOp::Adaptor a,
                                  Types &types) {
  if (failed(expectChannels(loc, a.getX(), {a.getScale(), a.getBias()})))
    return failure();
  if (a.getResidual() && a.getResidual().getType() != a.getX().getType())
    return emitOptionalError(loc, "(C3) expected a residual of x's type ",
                             a.getX().getType(), ", found ",
                             a.getResidual().getType());
  types.append(
      {a.getX().getType(), a.getScale().getType(), a.getScale().getType()});
  return success();
}
LogicalResult inferFusedBatchNormBackward(MaybeLoc loc,
                                          FusedBatchNormBackwardOp::Adaptor a,
                                          Types &types) {
  if (failed(expectChannels(loc, a.getX(), a.getOperands().drop_front(2))) ||
      failed(expectTypeOf(loc, "(C3)", a.getDy(), a.getX())))
    return failure();
  return gradients(a, types);
}
LogicalResult inferFusedLayerNorm(MaybeLoc loc, FusedLayerNormOp::Adaptor a,
                                  Types &types) {
  if (failed(
          checkRows(loc, a.getX(), a.getAxis(), {a.getScale(), a.getBias()})))
    return failure();
  auto x = tensorType(a.getX());
  SmallVector<int64_t> rows(x.getShape());
  std::fill(rows.begin() + a.getAxis(), rows.end(), 1);
  auto row = RankedTensorType::get(rows, elementType(a.getScale()));
  types.append({x, row, row});
  return success();
}
LogicalResult inferFusedLayerNormBackward(MaybeLoc loc,
                                          FusedLayerNormBackwardOp::Adaptor a,
                                          Types &types) {
  if (failed(checkRowGradients(loc, a.getDy(), a.getX(), a.getScale(),
                               {a.getMean(), a.getRstd()}, a.getAxis())))
    return failure();
  return gradients(a, types);
}

// Operations per element: the formula; a ReLU, a sum, and the recomputed norm.
constexpr int64_t kForward = 8, kBackward = 11, kAgain = 3;

} // namespace

int64_t FusedBatchNormOp::countFlops() {
  return (kForward + getRelu() + bool(getResidual())) *
         tensorType(getX()).getNumElements();
}
int64_t FusedBatchNormBackwardOp::countFlops() {
  return (kBackward + (getBias() ? kAgain : 0)) *
         tensorType(getX()).getNumElements();
}
int64_t FusedLayerNormOp::countFlops() {
  return kForward * tensorType(getX()).getNumElements();
}
int64_t FusedLayerNormBackwardOp::countFlops() {
  return kBackward * tensorType(getX()).getNumElements();
}

void registerLibraryNorms(DlcDialect &dialect) {
  RegisteredOperationName::insert<FusedBatchNormOp>(dialect);
  RegisteredOperationName::insert<FusedBatchNormBackwardOp>(dialect);
  RegisteredOperationName::insert<FusedLayerNormOp>(dialect);
  RegisteredOperationName::insert<FusedLayerNormBackwardOp>(dialect);
}

} // namespace dlc::ir

#define GET_OP_CLASSES
#include "compiler/dialect/LibraryNorm.cpp.inc"
