// SPDX-License-Identifier: Apache-2.0
// A function whose values have places becomes a list of commands.
#pragma once

#include "compiler/kernel/KernelTable.h"
#include "compiler/lower/memory/Placement.h"

namespace dlc {

/// Writes exec.program @f before `f`. Each cluster is a launch, each library op
/// a call, in the function's order. An all-reduce starts when its bucket is
/// complete; its wait stands before the first command that reads it, or that
/// needs its memory. Fails with a diagnostic at an op that has no command.
llvm::LogicalResult emitProgram(mlir::func::FuncOp f, const Placement &places,
                                KernelTable &kernels);

} // namespace dlc
