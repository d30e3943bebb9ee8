// SPDX-License-Identifier: Apache-2.0
// Converts a function with placed values to a list of commands.
#pragma once

#include "compiler/kernel/KernelTable.h"
#include "compiler/lower/memory/Placement.h"

namespace dlc {

/// Writes exec.program @f before `f`. Each cluster becomes a launch and each
/// library op a call, in the function's order. An all-reduce starts when its
/// bucket is complete; its wait precedes the first command that reads the
/// result or needs its memory. Fails with a diagnostic at an op that has no
/// command.
llvm::LogicalResult emitProgram(mlir::func::FuncOp f, const Placement &places,
                                KernelTable &kernels);

} // namespace dlc
