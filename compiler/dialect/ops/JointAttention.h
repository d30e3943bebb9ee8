// SPDX-License-Identifier: Apache-2.0
// The attention of JointAttention.td. Only lowering creates it, so it is not in
// Dlc.h.
#pragma once

#include "compiler/dialect/Dlc.h"

#define GET_OP_CLASSES
#include "compiler/dialect/JointAttention.h.inc"

namespace dlc::ir {

/// FLOPs of `products` products of the shape queries x keys, over the pairs
/// that are not masked.
int64_t attentionFlops(const AttentionDims &dims, int64_t products);

/// Called once by the dialect.
void registerJointAttention(DlcDialect &dialect);

} // namespace dlc::ir
