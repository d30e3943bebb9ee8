// SPDX-License-Identifier: Apache-2.0
// Compiles every exec.kernel of a module to GPU machine code. Needs neither a
// GPU nor a driver.
#pragma once

#include "compiler/dialect/Exec.h"
#include "compiler/target/cuda/codegen/CudaTarget.h"
#include "compiler/target/cuda/codegen/Toolkit.h"
#include "mlir/IR/BuiltinOps.h"
#include <vector>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace dlc::cuda {

/// All kernels of a module for one SM.
struct Image {
  Sm sm;
  std::string llvm; // optimized LLVM IR as text, if requested
  std::string ptx;
  Cubin cubin;
};

struct CudaCodegenOptions {
  bool keepLlvm = false;
  bool assemble = true; // to machine code; otherwise only PTX
  unsigned jobs = 0;    // SMs compiled in parallel; 0: one per core
};

/// Each kernel becomes an entry `symbol(inputs..., outputs...)` with bare
/// pointers to row-major arrays in global memory, 64-byte aligned; bool is a
/// byte of 0 or 1. Its `threads` define the launch. An output may alias an
/// input that the kernel reads only at the element it writes. Results are
/// deterministic. The module is not changed; errors are its diagnostics. Equal
/// modules give equal images.
llvm::LogicalResult compileKernels(mlir::ModuleOp module,
                                   llvm::ArrayRef<Sm> sms,
                                   const Toolkit &toolkit,
                                   const CudaCodegenOptions &options,
                                   std::vector<Image> &images);

/// The kernels before LLVM's optimizer, equal for all SMs; null after a
/// diagnostic. Functions that are not expanded to polynomials are calls of
/// libdevice.
std::unique_ptr<llvm::Module> emitKernels(mlir::ModuleOp module,
                                          llvm::LLVMContext &context);

/// Whether code can be generated for `kernel`, which is split into parts and
/// has no threads yet.
bool runsParts(exec::KernelOp kernel);

/// Sets the threads of each exec.kernel that has none, from its schedule. An
/// error names the op that cannot be part of a kernel. Linear time.
llvm::LogicalResult mapThreads(mlir::ModuleOp module);

} // namespace dlc::cuda
