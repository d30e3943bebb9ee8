// SPDX-License-Identifier: Apache-2.0
// Kernels for a GPU in a form that this machine can run.
#pragma once

#include "Fibers.h"
#include <memory>
#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
}

namespace dlc::test {

class GpuCode {
public:
  virtual ~GpuCode() = default;

  /// Runs all blocks. Arrays of arguments are `Guarded`. Returns what went
  /// wrong; empty: nothing.
  virtual std::string run(const std::string &kernel, int64_t grid,
                          int64_t block, const std::vector<void *> &arguments,
                          Order order, unsigned seed = 1) = 0;
  /// What has been run, in a line; may be empty.
  virtual std::string summary() const { return ""; }
};

/// Compiles all exec.kernels of a module, which have threads, for an SM ("90").
/// The environment's DLC_GPU_CODE chooses the form: "llvm", the optimized LLVM
/// IR, if it is not set, or "ptx", the text that the artifact has. Null: `why`
/// says what cannot be compiled or run.
std::unique_ptr<GpuCode> loadGpuCode(mlir::ModuleOp module,
                                     const std::string &sm, std::string &why);

} // namespace dlc::test
