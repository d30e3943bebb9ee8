// SPDX-License-Identifier: Apache-2.0
// Which activations to compute again so that a step fits into memory.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace dlc {

/// Recomputes activations of the fused module until all regions together take
/// at most `budget` bytes: the cheapest choice that it finds, or the one that
/// takes least where none fits. Says what was chosen in a remark.
///
/// Activations are tried in the order of bytes saved by a floating-point
/// operation repeated. Those chosen make segments of the forward part, each of
/// which is computed again as a whole before its backward part; what crosses
/// the border of two segments is kept.
void fitMemory(mlir::ModuleOp module, int64_t budget);

} // namespace dlc
