// SPDX-License-Identifier: Apache-2.0
// Ops that are one matrix product.
#pragma once

#include "compiler/target/Costs.h"
#include <optional>

namespace dlc {

/// y = a @ b: a matmul; or a convolution of channels-last images with one tap
/// and stride 1, or its gradient of the images, where each pixel is a row.
struct AsProduct {
  mlir::Operation *op = nullptr;
  mlir::Value a = {}, b = {}, bias = {}, y = {};
  bool transA = false, transB = false;
  /// Of b, without the dimensions of size one of a filter.
  llvm::SmallVector<int64_t> shapeOfB = {};
  ProductShape shape = {};

  /// nullopt if `op` is no such op.
  static std::optional<AsProduct> of(mlir::Operation *op);
};

} // namespace dlc
