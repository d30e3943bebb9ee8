// SPDX-License-Identifier: Apache-2.0
// Chooses activations to recompute so that a step fits into memory.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace dlc {

/// Recomputes activations of the fused module until all regions together need
/// at most `budget` bytes: by the cheapest choice that it finds, or, if none
/// fits, the one that needs the least memory. A remark tells the choice.
///
/// Activations are tried in the order of bytes saved per floating-point
/// operation repeated. The chosen ones divide the forward part into segments,
/// each of which is recomputed as a whole before its backward part; values that
/// cross the border of two segments are kept.
void fitMemory(mlir::ModuleOp module, int64_t budget);

} // namespace dlc
