// SPDX-License-Identifier: Apache-2.0
// Decides how a cluster is run: which loops are parallel items, which are
// inside of an item, and what it costs. What is decided is an attribute of
// exec.kernel (compiler/dialect/Schedule.h).
#pragma once

#include "compiler/dialect/Exec.h"
#include "compiler/kernel/KernelGraph.h"

namespace dlc {

/// Whether an elementwise op costs far more than an addition.
bool isCostly(mlir::Operation *op);

using exec::iterationsOf;
using exec::LoopGroup;
using KernelSchedule = exec::Schedule;

KernelSchedule scheduleKernel(const KernelGraph &graph);

/// Whether it would be KernelSchedule::Columns.
bool sumsColumns(const KernelGraph &graph);
/// Bytes that the kernel reads and writes, each argument once.
int64_t trafficOf(const KernelGraph &graph);

/// Gives each exec.kernel that has none its schedule. An error names the op
/// that cannot be part of a kernel. Linear time.
llvm::LogicalResult scheduleKernels(mlir::ModuleOp module);

/// The schedule of `kernel`, whose body is `graph`; an error on the op if it
/// has none, or one of other loops.
llvm::FailureOr<KernelSchedule> scheduleOf(exec::KernelOp kernel,
                                           const KernelGraph &graph);

} // namespace dlc
