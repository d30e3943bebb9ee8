// SPDX-License-Identifier: Apache-2.0
// Kernels for GPUs as a library for this machine, with which the stand-in
// driver (test/pretend/libraries) runs whole programs.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace dlc::test {

/// Writes the shared object `path`: for each exec.kernel k of the module, in
/// the form that SM `sm` ("90") gets, `launch.k` and `accesses.k`, which are
/// standin::KernelFunction and KernelAccesses. It wants libgpu_threads.so.
/// Returns what went wrong; empty: nothing.
std::string writeHostKernels(mlir::ModuleOp module, const std::string &sm,
                             const std::string &path);

} // namespace dlc::test
