// SPDX-License-Identifier: Apache-2.0
// What math and conversions become on scalars, so that LLVM's loop vectorizer
// can make them wide.
#pragma once

#include "mlir/IR/PatternMatch.h"

namespace dlc {

/// Rewrites exp, log, tanh, erf, sin and cos of f32 as polynomials (accuracy:
/// README.md), rsqrt as a division, and conversions from f64 or integers to
/// halves as two steps through f32.
void populateApproximations(mlir::RewritePatternSet &patterns);

} // namespace dlc
