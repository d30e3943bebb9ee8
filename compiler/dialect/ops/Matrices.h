// SPDX-License-Identifier: Apache-2.0
// Tensors as matrices, for products and steps over all rows.
#pragma once

#include "compiler/dialect/Expr.h"

namespace dlc::ir {

/// x as a matrix whose columns are its last dimension.
inline Expr rows(Expr x) {
  const int64_t last = x.shape().back();
  return x.reshape({x.type().getNumElements() / last, last});
}

} // namespace dlc::ir
