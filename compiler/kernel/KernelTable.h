// SPDX-License-Identifier: Apache-2.0
// The kernels of a module.
#pragma once

#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/Exec.h"

namespace dlc {

/// Makes an exec.kernel of each cluster; equal clusters share one.
class KernelTable {
public:
  explicit KernelTable(mlir::ModuleOp module);
  /// The kernel of a cluster, at the module's end.
  exec::KernelOp get(ir::FusedOp fused);
  exec::KernelOp get(mlir::Region &body, mlir::Location loc);

private:
  mlir::OpBuilder builder;
  llvm::StringMap<exec::KernelOp> kernels; // by the cluster's text
};

} // namespace dlc
