// SPDX-License-Identifier: Apache-2.0
// Norms and finiteness of gradients, also of those of which each rank has a
// part.
#pragma once

#include "compiler/dialect/Dlc.h"

namespace dlc {

/// What `op`, a global_norm or all_finite, gives, of parts of its operands:
/// equal on all ranks, which add up what they know of their parts as collective
/// `bucket`. By calls that count in integers, so that the sum has the bits of
/// that of whole gradients; or by clusters, in f64, where the device has no
/// such calls (kOfParts). Without a bucket the parts are whole.
mlir::Value ofParts(mlir::Operation *op, llvm::ArrayRef<mlir::Value> parts,
                    std::optional<int64_t> bucket);

} // namespace dlc
