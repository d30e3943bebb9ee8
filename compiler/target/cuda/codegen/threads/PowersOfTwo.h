// SPDX-License-Identifier: Apache-2.0
// Math functions computed with the GPU's exp2 instruction.
#pragma once

#include "mlir/IR/PatternMatch.h"

namespace dlc::cuda {

/// Rewrites exp and erf of f32, with a higher benefit than the polynomials.
void populatePowersOfTwo(mlir::RewritePatternSet &patterns);

} // namespace dlc::cuda
