// SPDX-License-Identifier: Apache-2.0
// Clusters to machine code of GPUs: every exec.kernel of a module. Needs
// neither a GPU nor a driver.
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
  std::string llvm; // optimized LLVM IR, as text, if it was asked for
  std::string ptx;
  Cubin cubin;
};

struct CudaCodegenOptions {
  bool keepLlvm = false;
  bool assemble = true; // to machine code; otherwise PTX is all
  unsigned jobs = 0;    // SMs at a time; 0: one per core
};

/// Each kernel becomes an entry `symbol(inputs..., outputs...)` of bare
/// pointers to row-major arrays in global memory, 64-byte aligned; bool is a
/// byte of 0 or 1. It is launched as its `threads` say. An output may be the
/// same buffer as an input that the kernel reads at the same elements only. The
/// same inputs give the same bits. The module is not changed; errors are its
/// diagnostics. Equal modules give equal images.
llvm::LogicalResult compileKernels(mlir::ModuleOp module,
                                   llvm::ArrayRef<Sm> sms,
                                   const Toolkit &toolkit,
                                   const CudaCodegenOptions &options,
                                   std::vector<Image> &images);

/// The kernels before LLVM's optimizer, the same for every SM; null after a
/// diagnostic. Functions that are no polynomials are calls of libdevice.
std::unique_ptr<llvm::Module> emitKernels(mlir::ModuleOp module,
                                          llvm::LLVMContext &context);

/// Whether there is code for `kernel`, which is cut and has no threads yet.
bool runsParts(exec::KernelOp kernel);

/// Gives each exec.kernel that has none its threads, by its schedule. An error
/// names the op that cannot be part of a kernel. Linear time.
llvm::LogicalResult mapThreads(mlir::ModuleOp module);

} // namespace dlc::cuda
