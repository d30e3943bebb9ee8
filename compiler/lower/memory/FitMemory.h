// SPDX-License-Identifier: Apache-2.0
// Chooses activations to recompute, or to copy to the host and back, so that a
// step fits into memory.
#pragma once

#include "compiler/lower/memory/Recompute.h"
#include "compiler/target/Target.h"

namespace dlc {

/// Recomputes or offloads activations of the fused module until all regions
/// together need at most `budget` bytes: by the cheapest choice that it finds,
/// or, if none fits, the one that needs the least memory. A remark tells the
/// choice.
///
/// Activations are tried in the order of bytes saved per floating-point
/// operation repeated. The chosen ones divide the forward part into segments,
/// each of which is recomputed as a whole before its backward part; values that
/// cross the border of two segments are kept.
///
/// If the target copies to the host, the values that are idle longest are also
/// offloaded (Offloader.h), beside some shares of the recomputed ones: with as
/// few copies as suffice. The choice counts if its predicted time, of repeated
/// commands and of copies that nothing hides, is less.
void fitMemory(mlir::ModuleOp module, int64_t budget, OffloadMode mode,
               const Target &target);

} // namespace dlc
