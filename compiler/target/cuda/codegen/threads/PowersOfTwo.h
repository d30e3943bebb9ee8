// SPDX-License-Identifier: Apache-2.0
// Functions by the GPU's instruction for powers of two.
#pragma once

#include "mlir/IR/PatternMatch.h"

namespace dlc::cuda {

/// Rewrites exp and erf of f32, in place of the polynomials.
void populatePowersOfTwo(mlir::RewritePatternSet &patterns);

} // namespace dlc::cuda
