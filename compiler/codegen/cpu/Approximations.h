// f32 functions as polynomials on scalars, which LLVM's loop vectorizer then
// makes wide.
#pragma once

#include "mlir/IR/PatternMatch.h"

namespace dlc {

/// Rewrites math ops on f32. Accuracy against the exact function, as
/// test/codegen measures it: see README.md.
void populateApproximations(mlir::RewritePatternSet &patterns);

} // namespace dlc
