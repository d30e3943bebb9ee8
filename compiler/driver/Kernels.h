// The step's kernels as files of the artifact, for the target that was asked
// for.
#pragma once

#include "compiler/driver/Options.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/base/Status.h"
#include <map>

namespace dlc {

struct CompiledKernels {
  std::map<std::string, std::string> files; // content by name
};

/// Compiles all exec.kernels of `module`, whose launches get what the target
/// needs, and says in `plan` what they were compiled for. Code::Usage for a
/// target that does not exist or whose tools are missing; Code::Failed after
/// diagnostics of the module.
Result<CompiledKernels> compileKernelFiles(mlir::ModuleOp module,
                                           const CompileOptions &options,
                                           plan::Plan &plan);

} // namespace dlc
