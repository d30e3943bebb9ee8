// SPDX-License-Identifier: Apache-2.0
// Resolves the op names that users put on autocast lists.
#pragma once

#include "mlir/IR/Operation.h"
#include <string>
#include <vector>

namespace dlc {

/// The mnemonics of all forward ops that autocast may decide about, sorted.
const std::vector<std::string> &castableOps();

/// The ops that `name` means: that mnemonic if it is one of castableOps(), or
/// the ops that nodes of that ONNX operator become. Empty for operators whose
/// nodes become several ops (HardSwish); see comesFrom.
std::vector<std::string> castableOps(llvm::StringRef name);

/// Whether `op` was built for a node of that ONNX operator, which the importer
/// records in its location.
bool comesFrom(mlir::Operation *op, llvm::StringRef onnxOperator);

/// The operator of the single node that `op` was built for, after the operators
/// in whose standard bodies that node was expanded. Empty if an op was made of
/// several nodes.
llvm::SmallVector<llvm::StringRef> operatorsOf(mlir::Operation *op);

/// The ONNX nodes that `op` comes from, in order.
std::vector<std::string> nodesOf(mlir::Operation *op);

} // namespace dlc
