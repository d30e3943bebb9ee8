// SPDX-License-Identifier: Apache-2.0
// Functions for which a GPU has instructions.
#pragma once

#include "mlir/IR/PatternMatch.h"

namespace dlc::cuda {

/// Rewrites exp of f32, in place of the polynomial.
void populateFunctions(mlir::RewritePatternSet &patterns);

} // namespace dlc::cuda
