// SPDX-License-Identifier: Apache-2.0
// Norm and finiteness of gradients, which may be split over ranks.
#pragma once

#include "compiler/dialect/Dlc.h"

namespace dlc {

/// The result of `op`, a global_norm or all_finite, from parts of its
/// operands. It is equal on all ranks, which reduce their partial results as
/// collective `bucket`. The partial results are computed by calls that
/// accumulate in integers, so that the result equals, bitwise, that of whole
/// gradients; or by clusters in f64, where the device has no such calls
/// (kOfParts). Without a bucket, the operands are whole.
mlir::Value ofParts(mlir::Operation *op, llvm::ArrayRef<mlir::Value> parts,
                    std::optional<int64_t> bucket);

} // namespace dlc
