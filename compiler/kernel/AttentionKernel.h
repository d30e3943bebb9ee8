// SPDX-License-Identifier: Apache-2.0
// Attention as a kernel: a cluster that holds the op alone.
#pragma once

#include "compiler/dialect/Dlc.h"

namespace dlc {

/// The attention, or its gradient, that is all of `body` but for what it
/// yields; null if there is none. A kernel of the gradient yields dq, or dk and
/// dv.
mlir::Operation *attentionOf(mlir::Region &body);

} // namespace dlc
