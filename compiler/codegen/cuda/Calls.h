// Library calls for which there is no library on a GPU: kernels of their own,
// written by hand op by op instead of from a graph of elements.
#pragma once

#include "compiler/codegen/cuda/Threads.h"
#include "compiler/dialect/Exec.h"

namespace dlc::cuda {

/// Blocks, and threads of each.
struct Launch {
  int64_t grid, block;
};

/// One kind of call.
struct CallKernel {
  llvm::StringRef kind;
  Launch (*launch)(mlir::Operation *op);
  /// The body of the kernel, whose arguments are `pointers`, inputs then
  /// outputs. Indices are 64 bits wide.
  void (*emit)(mlir::Operation *op, ScalarEmitter &e, Threads &t,
               mlir::ValueRange pointers);
};

/// Every exec.call that is in the table becomes an exec.launch; its kernel
/// holds the dlc op alone.
void lowerCalls(mlir::ModuleOp module);

/// Null for a kernel that is a cluster.
const CallKernel *callOf(exec::KernelOp kernel);
/// The only op of a kernel that is a call.
mlir::Operation *opOf(exec::KernelOp kernel);

//===--- the table's rows -------------------------------------------------===//

/// y[o, i, :] = data[o, indices[i], :]. A negative index counts from the end.
/// One out of range reads the last row: the runtime checks inputs before.
CallKernel gatherKernel();
/// y[o, v, :] = sum of updates[o, i, :] over the i with indices[i] = v, in
/// their order, in the type of computation: no atomics, equal bits each time.
CallKernel scatterAddKernel();

} // namespace dlc::cuda
