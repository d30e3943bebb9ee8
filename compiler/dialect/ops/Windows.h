// SPDX-License-Identifier: Apache-2.0
// The window of a convolution or pooling, and its images, by the op or its
// adaptor.
#pragma once

#include "compiler/dialect/Dlc.h"
#include "runtime/base/numbers/Sliding.h"

namespace dlc::ir {

/// Where a convolution's weights [O, I/group, K...] or, channels last, [O,
/// K..., I/group] have what. Weights of no such rank have no kernel and no
/// inputs.
class FilterDims {
public:
  explicit FilterDims(bool channelsLast) : channelsLast(channelsLast) {}

  Ints kernel(Ints weights) const {
    return weights.size() < 2 ? Ints()
           : channelsLast     ? weights.drop_front().drop_back()
                              : weights.drop_front(2);
  }
  int64_t inputs(Ints weights) const {
    return weights.size() < 2 ? 0 : channelsLast ? weights.back() : weights[1];
  }

private:
  bool channelsLast;
};

/// Over a kernel of these sizes; valid as long as they and the op's attributes.
template <class OpTy> WindowSizes windowOfKernel(OpTy op, Ints kernel) {
  return {kernel, op.getStrides(), op.getPads(), op.getDilations()};
}
/// Of a convolution by weights of this shape.
template <class OpTy> WindowSizes windowOf(OpTy op, Ints weights) {
  return windowOfKernel(op, FilterDims(op.getFiltersLast()).kernel(weights));
}
/// Of a pooling.
template <class OpTy> WindowSizes windowOf(OpTy op) {
  return windowOfKernel(op, op.getKernel());
}

/// The dimensions of images that are an operand or result of `op`.
template <class OpTy> ImageDims imageDims(OpTy op, mlir::Value image) {
  return {tensorType(image).getRank(), op.getLayout()};
}

} // namespace dlc::ir
