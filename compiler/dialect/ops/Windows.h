// The window of a convolution or pooling, and its images, by the op or its
// adaptor.
#pragma once

#include "compiler/dialect/Dlc.h"
#include "runtime/base/numbers/Sliding.h"

namespace dlc::ir {

/// Over a kernel of these sizes; valid as long as they and the op's attributes.
template <class OpTy> WindowSizes windowOf(OpTy op, Ints kernel) {
  return {kernel, op.getStrides(), op.getPads(), op.getDilations()};
}
/// Of a convolution by weights [O, I/group, ...].
template <class OpTy>
WindowSizes windowOf(OpTy op, mlir::RankedTensorType weights) {
  const Ints shape = weights.getShape();
  return windowOf(op, shape.drop_front(std::min<size_t>(2, shape.size())));
}
/// Of a pooling.
template <class OpTy> WindowSizes windowOf(OpTy op) {
  return windowOf(op, op.getKernel());
}

/// The dimensions of images that are an operand or result of `op`.
template <class OpTy> ImageDims imageDims(OpTy op, mlir::Value image) {
  return {tensorType(image).getRank(), op.getLayout()};
}

} // namespace dlc::ir
