// SPDX-License-Identifier: Apache-2.0
// Attention as a kernel: a cluster of this single op.
#pragma once

#include "compiler/dialect/Dlc.h"

namespace dlc {

/// The attention or its gradient, if `body` consists of it and a yield; else
/// null. A kernel of the gradient yields either dq, or dk and dv.
mlir::Operation *attentionOf(mlir::Region &body);

} // namespace dlc
