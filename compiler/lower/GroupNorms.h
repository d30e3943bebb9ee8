// SPDX-License-Identifier: Apache-2.0
// Group and instance norm of images, which are imported as layer norms of an
// image or of [N, groups, rest].
#pragma once

#include "compiler/dialect/Dlc.h"

namespace dlc {

/// Replaces a layer norm, or the gradient of one, whose rows are groups of
/// channels with all their pixels and whose scale and bias are scalars. Means
/// are computed over pixels, then over the channels of a group, so that no data
/// is moved when the image becomes channels last. `isImage` tells whether a
/// value [N, C, ...] will become channels last. Returns the ops created, in
/// order; none if `norm` is of another kind.
llvm::SmallVector<mlir::Operation *>
expandGroupNorm(mlir::Operation *norm,
                llvm::function_ref<bool(mlir::Value)> isImage);

} // namespace dlc
