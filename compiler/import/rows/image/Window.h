// SPDX-License-Identifier: Apache-2.0
// Windows that slide over images: of convolutions and pools.
#pragma once
#include "compiler/import/rows/Rows.h"
#include "runtime/base/numbers/Sliding.h"

namespace dlc::import {

/// The window attributes that Conv and the pools share, made explicit.
struct Window {
  std::vector<int64_t> kernel, strides, pads, dilations;

  WindowSizes sizes() const { return {kernel, strides, pads, dilations}; }
  Sliding along(size_t d) const { return sizes().along(d); }
};

/// An error unless `shape` is [N, C, D...] of one to three D.
LogicalResult checkImage(const Node &n, const Shape &shape);

/// The node's window over images of sizes `in`, auto_pad resolved; `kernel`
/// where it gives no kernel_shape. An error where it does not fit.
FailureOr<Window> window(const Node &n, llvm::ArrayRef<int64_t> in,
                         std::vector<int64_t> kernel);

/// The window of a convolution of x by weights of these shapes.
FailureOr<Window> windowOfWeights(const Node &n, const Shape &x,
                                  const Shape &weights);

/// The convolution of x by weights w, with the node's attributes and a bias
/// that may be null; null, and an error reported, where they do not fit.
Value convolution(const Node &n, Value x, Value w, Value bias);

/// A bias of zeros that the exporter wrote out (dynamo does) is no bias.
Value biasOf(const Node &n, size_t input);
/// y [N, C, ...] and the bias [C] of that input, where there is one.
Value withBias(const Node &n, Value y, size_t input);

} // namespace dlc::import
