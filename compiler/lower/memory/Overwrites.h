// SPDX-License-Identifier: Apache-2.0
// Results that may take the place of what their command reads.
#pragma once

#include "compiler/dialect/Dlc.h"

namespace dlc {

/// Whether a cluster reads an input only where it writes result r, or what
/// lies there.
bool mayOverwrite(ir::FusedOp fused, mlir::OpResult r, mlir::OpOperand &input);

/// The result of a cluster that takes the place of an operand (kOverwrites),
/// and that operand; nulls where something else reads it, where no command has
/// made it, or where there is none.
std::pair<mlir::Value, mlir::Value> overwritten(ir::FusedOp fused);

/// Results of a cluster and operands of their types whose place they may take:
/// commands made these, and nothing reads them afterwards.
llvm::SmallVector<std::pair<mlir::Value, mlir::Value>>
dyingOperands(ir::FusedOp fused);

} // namespace dlc
