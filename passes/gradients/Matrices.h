// SPDX-License-Identifier: Apache-2.0
// Operands of products that sum over all rows of a tensor.
#pragma once

#include "compiler/dialect/Expr.h"

namespace dlc::ir {

/// x as a matrix whose columns are its last dimension.
inline Expr rows(Expr x) {
  const int64_t last = x.shape().back();
  return x.reshape({x.type().getNumElements() / last, last});
}

} // namespace dlc::ir
