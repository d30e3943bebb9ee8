// SPDX-License-Identifier: Apache-2.0
// Result types from operands and attributes, one function per family. Labels
// such as (C1) name constraints in the .td files.
#pragma once

#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/ops/Windows.h"

namespace dlc::ir {

using MaybeLoc = std::optional<mlir::Location>;
using Types = llvm::SmallVectorImpl<mlir::Type>;

constexpr int64_t kDynamic = mlir::ShapedType::kDynamic;

inline mlir::RankedTensorType withShape(mlir::RankedTensorType t, Ints shape) {
  return mlir::RankedTensorType::get(shape, t.getElementType());
}

/// Numpy broadcast of the operands' shapes with the given element type. `law`
/// is the label of the constraint that it checks.
llvm::LogicalResult broadcastTypes(MaybeLoc loc, llvm::StringRef law,
                                   mlir::ValueRange operands,
                                   mlir::Type element, Types &types);

llvm::LogicalResult sameElements(MaybeLoc loc, llvm::StringRef law,
                                 mlir::ValueRange operands);

/// Checks that `axis` is a dimension of t.
llvm::LogicalResult expectAxis(MaybeLoc loc, llvm::StringRef law, int64_t axis,
                               mlir::RankedTensorType t);
/// Checks that `v` has the element type of `like` and a compatible shape.
llvm::LogicalResult expectTypeOf(MaybeLoc loc, llvm::StringRef law,
                                 mlir::Value v, mlir::Value like);
/// Checks that `by` is undecided or one of `ways`.
llvm::LogicalResult expectBy(MaybeLoc loc, llvm::StringRef law, By by,
                             llvm::ArrayRef<By> ways);
inline llvm::LogicalResult expectCallOrKernel(MaybeLoc loc, llvm::StringRef law,
                                              By by) {
  return expectBy(loc, law, by, {By::Library, By::Generated});
}
inline llvm::LogicalResult expectConvBy(MaybeLoc loc, llvm::StringRef law,
                                        By by) {
  return expectBy(loc, law, by,
                  {By::Library, By::Generated, By::Winograd2, By::Winograd4});
}
inline llvm::LogicalResult expectCallOrOps(MaybeLoc loc, llvm::StringRef law,
                                           By by) {
  return expectBy(loc, law, by, {By::Library, By::Decomposed});
}
/// (C1), (C2) and (C5) of dlc.grouped_matmul.
llvm::LogicalResult checkGroups(MaybeLoc loc, mlir::Value x, mlir::Value groups,
                                By by);
/// Checks that `v` has this shape, in all known dimensions.
llvm::LogicalResult expectShape(MaybeLoc loc, llvm::StringRef law,
                                mlir::Value v, Ints shape);
/// Checks that each of `perChannel` is a vector with an element per channel of
/// x: (C1) to (C3) of dlc.batch_norm.
llvm::LogicalResult checkChannels(MaybeLoc loc, mlir::Value x,
                                  mlir::ValueRange perChannel,
                                  llvm::StringRef layout);
/// (C1), (C2) of dlc.layer_norm.
llvm::LogicalResult checkRows(MaybeLoc loc, mlir::Value x, int64_t axis,
                              mlir::ValueRange perElement);
/// (C1) to (C4) of dlc.layer_norm_backward.
llvm::LogicalResult checkRowGradients(MaybeLoc loc, mlir::Value dy,
                                      mlir::Value x, mlir::Value scale,
                                      mlir::ValueRange statistics,
                                      int64_t axis);

/// Checks that `rows` is a vector, and that `values` has one row for each of
/// its elements, of the shape of the rows of `like`.
llvm::LogicalResult expectRows(MaybeLoc loc, llvm::StringRef ofRows,
                               llvm::StringRef ofValues, mlir::Value rows,
                               mlir::Value values, mlir::RankedTensorType like);

/// Shape of a convolution's result: (C1) to (C3) and (C6) to (C8) of dlc.conv.
llvm::LogicalResult convShape(MaybeLoc loc, mlir::RankedTensorType x,
                              mlir::RankedTensorType w,
                              const WindowSizes &window, llvm::StringRef layout,
                              bool filtersLast, int64_t group,
                              llvm::SmallVectorImpl<int64_t> &y);
/// The shape of a pooling's result: (C1) to (C4) of dlc.max_pool.
llvm::LogicalResult poolShape(MaybeLoc loc, mlir::RankedTensorType x,
                              const WindowSizes &window, llvm::StringRef layout,
                              llvm::SmallVectorImpl<int64_t> &y);
/// The shape of a product: (C1) to (C3) of dlc.matmul.
llvm::LogicalResult productShape(MaybeLoc loc, mlir::RankedTensorType a,
                                 mlir::RankedTensorType b, bool transA,
                                 bool transB,
                                 llvm::SmallVectorImpl<int64_t> &y);

template <class A>
llvm::LogicalResult inferBroadcast(MaybeLoc loc, A a, Types &types) {
  if (failed(sameElements(loc, "(C1)", a.getOperands())))
    return llvm::failure();
  return broadcastTypes(loc, "(C2)", a.getOperands(),
                        elementType(a.getOperands().front()), types);
}
template <class A>
llvm::LogicalResult inferPredicate(MaybeLoc loc, A a, Types &types) {
  if (failed(sameElements(loc, "(C1)", a.getOperands())))
    return llvm::failure();
  mlir::Type i1 =
      mlir::IntegerType::get(a.getOperands().front().getContext(), 1);
  return broadcastTypes(loc, "(C2)", a.getOperands(), i1, types);
}
template <class A>
llvm::LogicalResult inferIsFinite(MaybeLoc, A a, Types &types) {
  types.push_back(tensorType(a.getX()).clone(
      mlir::IntegerType::get(a.getX().getContext(), 1)));
  return llvm::success();
}
template <class A>
llvm::LogicalResult inferDynamicEncode(MaybeLoc, A a, Types &types) {
  types.push_back(tensorType(a.getX()).clone(
      mlir::IntegerType::get(a.getX().getContext(), 8)));
  return llvm::success();
}
template <class A>
llvm::LogicalResult inferDynamicDecode(MaybeLoc, A a, Types &types) {
  types.push_back(tensorType(a.getX()).clone(
      mlir::Float32Type::get(a.getX().getContext())));
  return llvm::success();
}
template <class A>
llvm::LogicalResult inferSameAsFirst(MaybeLoc, A a, Types &types) {
  types.push_back(a.getOperands().front().getType());
  return llvm::success();
}
template <class A>
llvm::LogicalResult inferActivationBackward(MaybeLoc loc, A a, Types &types) {
  if (failed(expectTypeOf(loc, "(C1)", a.getOperands()[1], a.getDy())))
    return llvm::failure();
  types.push_back(a.getDy().getType());
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
llvm::LogicalResult inferSoftmax(MaybeLoc loc, A a, Types &types) {
  if (failed(expectAxis(loc, "(C1)", a.getAxis(), tensorType(a.getX()))))
    return llvm::failure();
  types.push_back(a.getX().getType());
  return llvm::success();
}
template <class A>
llvm::LogicalResult inferOrthogonalize(MaybeLoc loc, A a, Types &types) {
  auto x = tensorType(a.getX());
  if (x.getRank() != 2)
    return mlir::emitOptionalError(loc, "(C1) expected a matrix, found ", x);
  if (x.getDimSize(1) > x.getDimSize(0))
    return mlir::emitOptionalError(
        loc, "(C2) expected no more columns than rows, found ", x);
  types.push_back(x);
  return llvm::success();
}
template <class A>
llvm::LogicalResult inferSoftmaxBackward(MaybeLoc loc, A a, Types &types) {
  if (failed(expectAxis(loc, "(C1)", a.getAxis(), tensorType(a.getDy()))) ||
      failed(expectTypeOf(loc, "(C2)", a.getY(), a.getDy())))
    return llvm::failure();
  types.push_back(a.getDy().getType());
  return llvm::success();
}
template <class A>
llvm::LogicalResult inferArgMax(MaybeLoc loc, A a, Types &types) {
  if (a.getAxes().size() != 1)
    return emitOptionalError(loc, "(C2) expected one axis, found ",
                             a.getAxes().size());
  return reduceType(loc, tensorType(a.getX()), a.getAxes(), a.getKeepdims(),
                    mlir::IntegerType::get(a.getX().getContext(), 64), types);
}
template <class A>
llvm::LogicalResult inferUniform(MaybeLoc loc, A a, Types &types) {
  mlir::Type f32 = mlir::Float32Type::get(a.getPosition().getContext());
  for (int i = 0; i < 2; ++i)
    if (failed(broadcastTypes(loc, "(C1)", a.getOperands(), f32, types)))
      return llvm::failure();
  return llvm::success();
}
#define DLC_INFER(NAME, OP)                                                    \
  llvm::LogicalResult NAME(MaybeLoc loc, OP::Adaptor a, Types &types)
DLC_INFER(inferSelect, SelectOp);
DLC_INFER(inferMatmul, MatmulOp);
DLC_INFER(inferGroupedMatmul, GroupedMatmulOp);
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
DLC_INFER(inferUniqueRows, UniqueRowsOp);
DLC_INFER(inferCrossEntropy, SoftmaxCrossEntropyOp);
DLC_INFER(inferCrossEntropyBackward, SoftmaxCrossEntropyBackwardOp);
#undef DLC_INFER

} // namespace dlc::ir
