// SPDX-License-Identifier: Apache-2.0
// Chooses the schedule of a cluster: which loops run over parallel items and
// which inside of an item, and its cost. The result is stored as an attribute
// of exec.kernel (compiler/dialect/Schedule.h).
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

/// Whether the schedule would be KernelSchedule::Columns.
bool sumsColumns(const KernelGraph &graph);
/// Bytes that the kernel reads and writes, each argument counted once.
int64_t trafficOf(const KernelGraph &graph);

/// Adds schedules to all exec.kernel ops that have none. An error names the op
/// that cannot be part of a kernel. Linear time.
llvm::LogicalResult scheduleKernels(mlir::ModuleOp module);

/// The schedule of `kernel`, whose body is `graph`; an error on the op if there
/// is none or if its loops differ from the graph's.
llvm::FailureOr<KernelSchedule> scheduleOf(exec::KernelOp kernel,
                                           const KernelGraph &graph);

} // namespace dlc
