// Result types from operands and attributes, one function a family. Labels (C1)
// name the laws in the .td files.
#pragma once

#include "compiler/dialect/Dlc.h"

namespace dlc::ir {

using MaybeLoc = std::optional<mlir::Location>;
using Types = llvm::SmallVectorImpl<mlir::Type>;

/// Numpy broadcast of the operands' shapes with the given element type.
llvm::LogicalResult broadcastTypes(MaybeLoc loc, mlir::ValueRange operands,
                                   mlir::Type element, Types &types);

/// Elements of a pooling or convolution output along one dimension; negative
/// when the window does not fit.
int64_t windowSize(int64_t in, int64_t kernel, int64_t stride, int64_t padLow,
                   int64_t padHigh, int64_t dilation);

llvm::LogicalResult sameElements(MaybeLoc loc, mlir::ValueRange operands);

template <class A>
llvm::LogicalResult inferBroadcast(MaybeLoc loc, A a, Types &types) {
  if (failed(sameElements(loc, a.getOperands())))
    return llvm::failure();
  return broadcastTypes(loc, a.getOperands(),
                        elementType(a.getOperands().front()), types);
}
template <class A>
llvm::LogicalResult inferPredicate(MaybeLoc loc, A a, Types &types) {
  if (failed(sameElements(loc, a.getOperands())))
    return llvm::failure();
  mlir::Type i1 =
      mlir::IntegerType::get(a.getOperands().front().getContext(), 1);
  return broadcastTypes(loc, a.getOperands(), i1, types);
}
template <class A>
llvm::LogicalResult inferSameAsFirst(MaybeLoc, A a, Types &types) {
  types.push_back(a.getOperands().front().getType());
  return llvm::success();
}
llvm::LogicalResult reduceType(MaybeLoc loc, mlir::RankedTensorType x,
                               Ints axes, bool keepdims, mlir::Type element,
                               Types &types);
template <class A>
llvm::LogicalResult inferReduce(MaybeLoc loc, A a, Types &types) {
  return reduceType(loc, tensorType(a.getX()), a.getAxes(), a.getKeepdims(),
                    elementType(a.getX()), types);
}
template <class A>
llvm::LogicalResult inferArgMax(MaybeLoc loc, A a, Types &types) {
  return reduceType(loc, tensorType(a.getX()), a.getAxes(), a.getKeepdims(),
                    mlir::IntegerType::get(a.getX().getContext(), 64), types);
}
template <class A>
llvm::LogicalResult inferUniform(MaybeLoc loc, A a, Types &types) {
  mlir::Type f32 = mlir::Float32Type::get(a.getPosition().getContext());
  for (int i = 0; i < 2; ++i)
    if (failed(broadcastTypes(loc, a.getOperands(), f32, types)))
      return llvm::failure();
  return llvm::success();
}
#define DLC_INFER(NAME, OP)                                                    \
  llvm::LogicalResult NAME(MaybeLoc loc, OP::Adaptor a, Types &types)
DLC_INFER(inferSelect, SelectOp);
DLC_INFER(inferMatmul, MatmulOp);
DLC_INFER(inferAttention, AttentionOp);
DLC_INFER(inferAttentionBackward, AttentionBackwardOp);
DLC_INFER(inferConv, ConvOp);
DLC_INFER(inferMaxPool, MaxPoolOp);
DLC_INFER(inferAvgPool, AvgPoolOp);
DLC_INFER(inferBatchNorm, BatchNormOp);
DLC_INFER(inferBatchNormBackward, BatchNormBackwardOp);
DLC_INFER(inferBatchNormInfer, BatchNormInferOp);
DLC_INFER(inferLayerNorm, LayerNormOp);
DLC_INFER(inferLayerNormBackward, LayerNormBackwardOp);
DLC_INFER(inferTranspose, TransposeOp);
DLC_INFER(inferSlice, SliceOp);
DLC_INFER(inferPad, PadOp);
DLC_INFER(inferConcat, ConcatOp);
DLC_INFER(inferGather, GatherOp);
DLC_INFER(inferCrossEntropy, SoftmaxCrossEntropyOp);
DLC_INFER(inferCrossEntropyBackward, SoftmaxCrossEntropyBackwardOp);
#undef DLC_INFER

} // namespace dlc::ir
