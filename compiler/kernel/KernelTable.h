// SPDX-License-Identifier: Apache-2.0
// The kernels of a module.
#pragma once

#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/Exec.h"

namespace dlc {

/// Creates an exec.kernel for each cluster; equal clusters share one.
class KernelTable {
public:
  explicit KernelTable(mlir::ModuleOp module);
  /// The kernel of a cluster, which is at the end of the module.
  exec::KernelOp get(ir::FusedOp fused);
  exec::KernelOp get(mlir::Region &body, mlir::Location loc);

private:
  mlir::OpBuilder builder;
  llvm::StringMap<exec::KernelOp> kernels; // by the cluster's printed form
};

} // namespace dlc
