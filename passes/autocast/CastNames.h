// SPDX-License-Identifier: Apache-2.0
// The names that users give ops in the lists of autocast.
#pragma once

#include "mlir/IR/Operation.h"
#include <string>
#include <vector>

namespace dlc {

/// The mnemonics of all forward ops that autocast may decide about, sorted.
const std::vector<std::string> &castableOps();

/// The ops that `name` stands for: its own if it is one of castableOps(), or
/// those that nodes of that ONNX operator become. Empty for operators whose
/// nodes become several ops (HardSwish): see comesFrom.
std::vector<std::string> castableOps(llvm::StringRef name);

/// Whether `op` was built for a node of that ONNX operator, as the importer
/// notes in its location.
bool comesFrom(mlir::Operation *op, llvm::StringRef onnxOperator);

/// The operator of the one node that `op` was built for; before it those whose
/// standard bodies the node is of. None where an op is made of several nodes.
llvm::SmallVector<llvm::StringRef> operatorsOf(mlir::Operation *op);

/// The ONNX nodes that `op` comes from, in order.
std::vector<std::string> nodesOf(mlir::Operation *op);

} // namespace dlc
