// SPDX-License-Identifier: Apache-2.0
// Tensors in the host's memory, and the ops of HostMemory.td. Only lowering
// creates them, so they are not in Dlc.h.
#pragma once

#include "compiler/dialect/Dlc.h"

#define GET_OP_CLASSES
#include "compiler/dialect/HostMemory.h.inc"

namespace dlc::ir {

/// Whether it is in pinned memory of the host.
bool isOnHost(mlir::Type type);
inline bool isOnHost(mlir::Value v) { return isOnHost(v.getType()); }
/// The same tensor type in that memory.
mlir::RankedTensorType hostType(mlir::Type type);

/// Called once by the dialect.
void registerHostMemory(DlcDialect &dialect);

} // namespace dlc::ir
