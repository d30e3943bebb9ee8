// SPDX-License-Identifier: Apache-2.0
// Parses and checks the commands fused_batch_norm, fused_layer_norm and their
// gradients.
#pragma once

#include "runtime/device/Device.h"

#include <vector>

namespace dlc {

struct Norm {
  bool isLayer = false, isBackward = false;
  bool relu = false;        // after the norm, or before its gradient
  bool hasResidual = false; // added before the ReLU
  // Dimensions of x as images with channels last, with all leading spatial
  // dimensions merged; rows of a layer norm are images of one pixel.
  int64_t n = 0, h = 1, w = 1, c = 0;
  double epsilon = 0; // of norms, not gradients

  // In the order of libraries: n, c, h, w.
  std::vector<int64_t> dims() const { return {n, c, h, w}; }
  std::vector<int64_t> parameters() const { return {1, c, 1, 1}; }
  std::vector<int64_t> statistics() const {
    return isLayer ? std::vector<int64_t>{n, 1, 1, 1} : parameters();
  }
  static std::vector<int64_t> strides(const std::vector<int64_t> &dims) {
    return {dims[1] * dims[2] * dims[3], 1, dims[1] * dims[3], dims[1]};
  }
};

// Corrupt if operands and attributes are inconsistent, Incompatible if x is not
// f16, bf16 or f32.
Result<Norm> normOf(const CommandSpec &spec);

} // namespace dlc
