// SPDX-License-Identifier: Apache-2.0
// Results that may overwrite an operand of their command.
#pragma once

#include "compiler/dialect/Dlc.h"

namespace dlc {

/// Whether a cluster reads each element of an input only where it writes the
/// same element of result r, so that they may share memory.
bool mayOverwrite(ir::FusedOp fused, mlir::OpResult r, mlir::OpOperand &input);

/// The result of a cluster that overwrites an operand (kOverwrites), and that
/// operand; nulls if the operand has another use or is not the result of a
/// command, or if there is no such result.
std::pair<mlir::Value, mlir::Value> overwritten(ir::FusedOp fused);

/// Pairs of a result of a cluster and an operand of the same type that it may
/// overwrite: a command computed the operand, or it was fetched, and it has no
/// later use.
llvm::SmallVector<std::pair<mlir::Value, mlir::Value>>
dyingOperands(ir::FusedOp fused);

} // namespace dlc
