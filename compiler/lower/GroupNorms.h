// SPDX-License-Identifier: Apache-2.0
// Norms of images by groups of channels: group and instance norm, which arrive
// as layer norms of an image or of [N, groups, rest].
#pragma once

#include "compiler/dialect/Dlc.h"

namespace dlc {

/// Replaces a layer norm, or the gradient of one, whose rows are groups of
/// channels with all their pixels and whose scale and bias are numbers. Means
/// are taken over pixels, then over the channels of a group, so that no element
/// moves when the image becomes channels last. `isImage` says of a value
/// [N, C, ...] whether it will. Returns the ops made, in order; none for
/// another norm.
llvm::SmallVector<mlir::Operation *>
expandGroupNorm(mlir::Operation *norm,
                llvm::function_ref<bool(mlir::Value)> isImage);

} // namespace dlc
