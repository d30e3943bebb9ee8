// SPDX-License-Identifier: Apache-2.0
// Sliding windows of convolutions and pools.
#pragma once
#include "compiler/import/rows/Rows.h"
#include "runtime/base/numbers/Sliding.h"

namespace dlc::import {

/// The window attributes shared by Conv and pools, with defaults resolved.
struct Window {
  std::vector<int64_t> kernel, strides, pads, dilations;

  WindowSizes sizes() const { return {kernel, strides, pads, dilations}; }
  Sliding along(size_t d) const { return sizes().along(d); }
};

/// An error unless `shape` is [N, C, D...] with one to three D.
LogicalResult checkImage(const Node &n, const Shape &shape);

/// The node's window over images of spatial sizes `in`, with auto_pad resolved;
/// `kernel` is the default of kernel_shape. An error if it does not fit.
FailureOr<Window> window(const Node &n, llvm::ArrayRef<int64_t> in,
                         std::vector<int64_t> kernel);

/// The window of a convolution of x by weights of these shapes.
FailureOr<Window> windowOfWeights(const Node &n, const Shape &x,
                                  const Shape &weights);

/// The convolution of x by weights w with the node's attributes and an optional
/// bias; reports an error and returns null if they do not fit.
Value convolution(const Node &n, Value x, Value w, Value bias);

/// The bias, or null if it is constant zeros, which the dynamo exporter writes.
Value biasOf(const Node &n, size_t input);
/// y [N, C, ...] plus the bias [C] of that input, if present.
Value withBias(const Node &n, Value y, size_t input);

} // namespace dlc::import
