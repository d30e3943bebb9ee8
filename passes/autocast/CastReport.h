// SPDX-License-Identifier: Apache-2.0
// The text that --explain-amp prints.
#pragma once

#include "passes/autocast/CastPainter.h"

namespace dlc {

/// The attribute of a module that stores the lines until the driver takes them.
constexpr llvm::StringLiteral kCastReport = "dlc.casts";

/// The casts that were inserted to carry out the decisions.
struct CastsAdded {
  llvm::DenseMap<mlir::Operation *, unsigned> casts; // of operands, by op
  llvm::DenseMap<mlir::Operation *, std::string> notes;
  llvm::DenseSet<mlir::Operation *> float8; // products marked by kFloat8
  unsigned total = 0, ofStates = 0, constants = 0;
};

/// A line for each op with its ONNX nodes, its name, the type it computes in,
/// the casts inserted for it, and the rule that decided; then a summary.
std::vector<std::string> explainCasts(mlir::func::FuncOp f,
                                      const CastDecisions &decisions,
                                      const CastsAdded &added,
                                      llvm::StringRef halfName);

} // namespace dlc
