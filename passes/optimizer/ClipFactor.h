// SPDX-License-Identifier: Apache-2.0
// The factor that clips a tensor to a maximum norm.
#pragma once

#include "compiler/dialect/Expr.h"

namespace dlc {

/// torch's clip_grad_norm_: min(1, most / (norm + 1e-6)).
inline ir::Expr clipFactor(ir::Expr norm, double most) {
  return minimum(most / (norm + 1e-6), 1);
}

} // namespace dlc
