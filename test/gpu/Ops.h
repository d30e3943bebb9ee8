// SPDX-License-Identifier: Apache-2.0
// The cases of test/ops as kernels.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace dlc::test {

struct OpsModule {
  mlir::OwningOpRef<mlir::ModuleOp> kernels; // null: the file is not readable
  std::vector<std::string> leftOut;          // "FUNCTION (why it is not valid)"
};

/// Dialects and what passes need to know of their ops.
void registerOps(mlir::DialectRegistry &registry);

/// Every function of `path` with `type` ("bf16") for f64: its training step
/// (test/ops/Case.h), decomposed and fused as for a GPU. A kernel for each
/// cluster, named FUNCTION_NUMBER.
OpsModule opsModule(const std::string &path, const std::string &type,
                    mlir::MLIRContext &context);

} // namespace dlc::test
