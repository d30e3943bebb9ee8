// SPDX-License-Identifier: Apache-2.0
#include "compiler/dialect/ops/JointAttention.h"
#include "compiler/dialect/Infer.h"

using namespace mlir;
using llvm::LogicalResult;

namespace dlc::ir {
namespace {

AttentionDims dimsOf(RankedTensorType qkv, bool causal) {
  const int64_t length = qkv.getDimSize(1), depth = qkv.getDimSize(3);
  return {qkv.getDimSize(0),
          qkv.getDimSize(2) / 3,
          length,
          length,
          depth,
          depth,
          causal};
}

LogicalResult checkJoint(MaybeLoc loc, Value qkv, Value mask) {
  auto type = tensorType(qkv);
  if (type.getRank() != 4 || type.getDimSize(2) % 3)
    return emitOptionalError(
        loc,
        "(C1) expected queries, keys and values of equally many heads, "
        "found ",
        type);
  if (mask && tensorType(mask).getRank() != 4)
    return emitOptionalError(loc, "(C2) expected a mask of rank 4, found ",
                             mask.getType());
  return success();
}

/// The types of y and lse.
std::pair<RankedTensorType, RankedTensorType> results(RankedTensorType qkv) {
  const AttentionDims d = dimsOf(qkv, false);
  const Type element = qkv.getElementType();
  return {qkv.clone({d.batch, d.queries, d.heads, d.valueDepth}),
          RankedTensorType::get(
              {d.batch, d.heads, d.queries, 1},
              element.isF64() ? element : Float32Type::get(qkv.getContext()))};
}

LogicalResult inferAttentionJoint(MaybeLoc loc, AttentionJointOp::Adaptor a,
                                  Types &types) {
  if (failed(checkJoint(loc, a.getQkv(), a.getMask())))
    return failure();
  auto [y, lse] = results(tensorType(a.getQkv()));
  types.append({y, lse});
  return success();
}
LogicalResult inferAttentionJointBackward(MaybeLoc loc,
                                          AttentionJointBackwardOp::Adaptor a,
                                          Types &types) {
  if (failed(checkJoint(loc, a.getQkv(), a.getMask())))
    return failure();
  auto [y, lse] = results(tensorType(a.getQkv()));
  if (a.getDy().getType() != y || a.getY().getType() != y ||
      a.getLse().getType() != lse)
    return emitOptionalError(
        loc, "(C3) expected dy, y and lse of one attention, found ",
        a.getDy().getType(), ", ", a.getY().getType(), " and ",
        a.getLse().getType());
  types.push_back(a.getQkv().getType());
  return success();
}

} // namespace

int64_t AttentionJointOp::countFlops() {
  return attentionFlops(dimsOf(tensorType(getQkv()), getCausal()), 2);
}
int64_t AttentionJointBackwardOp::countFlops() {
  return attentionFlops(dimsOf(tensorType(getQkv()), getCausal()), 5);
}

void registerJointAttention(DlcDialect &dialect) {
  RegisteredOperationName::insert<AttentionJointOp>(dialect);
  RegisteredOperationName::insert<AttentionJointBackwardOp>(dialect);
}

} // namespace dlc::ir

#define GET_OP_CLASSES
#include "compiler/dialect/JointAttention.cpp.inc"
