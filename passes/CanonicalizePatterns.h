// Patterns of dlc-canonicalize that have files of their own.
#pragma once

#include "compiler/dialect/Expr.h"
#include "mlir/IR/PatternMatch.h"

namespace dlc {

/// The number that every element of the float constant `v` is; none for
/// anything else.
std::optional<double> splatOf(mlir::Value v);

/// GELU written out, in its tanh and its erf form, becomes dlc.gelu.
void addGeluPatterns(mlir::RewritePatternSet &set);

} // namespace dlc
