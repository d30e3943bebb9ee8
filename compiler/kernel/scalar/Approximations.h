// SPDX-License-Identifier: Apache-2.0
// Scalar forms of math functions and conversions that LLVM's loop vectoriser
// can vectorise.
#pragma once

#include "mlir/IR/PatternMatch.h"

namespace dlc {

/// Rewrites exp, log, tanh, erf, sin and cos of f32 as polynomials (accuracy:
/// README.md), rsqrt as a division, and conversions from f64 or integers to
/// 16-bit floats as two conversions through f32.
void populateApproximations(mlir::RewritePatternSet &patterns);

} // namespace dlc
