// SPDX-License-Identifier: Apache-2.0
// Compiles every exec.kernel of a module into one shared object.
#pragma once

#include "compiler/target/cpu/codegen/CpuTarget.h"
#include "mlir/IR/BuiltinOps.h"
#include <functional>

namespace dlc {

struct CpuCodegenOptions {
  unsigned optLevel = 3; // 0 to 3
  unsigned jobs =
      0; // threads; 0: one per core. The result does not depend on it
  std::string cacheDir; // folder of the object cache; empty: none
  uint64_t cacheBytes = uint64_t(512) << 20; // at most, after a compilation
  /// Receives the optimized LLVM IR, one call per LLVM module, in order.
  std::function<void(llvm::StringRef)> dumpLlvm;
};

/// Each kernel becomes `extern "C" void symbol(void *const *args, int64_t
/// begin, int64_t end)`: args are its inputs (block arguments), then its
/// outputs (operands of dlc.yield), row-major; bool is a byte of 0 or 1. It
/// computes the items [begin, end) of KernelSchedule's extent; results do not
/// depend, bitwise, on how items are split. An output may alias an input that
/// the kernel reads only at the element it writes. Calls of libm remain
/// undefined symbols. The module is not changed. Errors are diagnostics at the
/// kernel. Equal modules give equal bytes.
llvm::LogicalResult compileKernels(mlir::ModuleOp module,
                                   const CpuTarget &target,
                                   const CpuCodegenOptions &options,
                                   llvm::SmallVectorImpl<char> &sharedObject);

} // namespace dlc
