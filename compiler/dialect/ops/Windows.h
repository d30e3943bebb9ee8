// SPDX-License-Identifier: Apache-2.0
// The window of a convolution or pooling, and the dimensions of its images,
// from the op or its adaptor.
#pragma once

#include "compiler/dialect/Dlc.h"
#include "runtime/base/numbers/Sliding.h"

namespace dlc::ir {

/// Dimensions of a convolution's weights [O, I/group, K...] or, with channels
/// last, [O, K..., I/group]. Of a lower rank they have no kernel and no inputs.
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

/// For a kernel of these sizes; refers to them and to the op's attributes.
template <class OpTy> WindowSizes windowOfKernel(OpTy op, Ints kernel) {
  return {kernel, op.getStrides(), op.getPads(), op.getDilations()};
}
/// For a convolution whose weights have this shape.
template <class OpTy> WindowSizes windowOf(OpTy op, Ints weights) {
  return windowOfKernel(op, FilterDims(op.getFiltersLast()).kernel(weights));
}
/// For a pooling.
template <class OpTy> WindowSizes windowOf(OpTy op) {
  return windowOfKernel(op, op.getKernel());
}

/// The dimensions of an image that is an operand or result of `op`.
template <class OpTy> ImageDims imageDims(OpTy op, mlir::Value image) {
  return {tensorType(image).getRank(), op.getLayout()};
}

} // namespace dlc::ir
