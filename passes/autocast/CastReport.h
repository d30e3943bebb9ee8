// SPDX-License-Identifier: Apache-2.0
// What --explain-amp prints.
#pragma once

#include "passes/autocast/CastPainter.h"

namespace dlc {

/// The attribute of a module that holds the lines, until the driver takes it.
constexpr llvm::StringLiteral kCastReport = "dlc.casts";

/// What carrying out the decisions added.
struct CastsAdded {
  llvm::DenseMap<mlir::Operation *, unsigned> casts; // for operands of an op
  llvm::DenseMap<mlir::Operation *, std::string> notes;
  unsigned total = 0, ofStates = 0, constants = 0;
};

/// A line for each op: its ONNX nodes, its name, the type that it computes in,
/// the casts that were added for it, and what decided. Then a summary.
std::vector<std::string> explainCasts(mlir::func::FuncOp f,
                                      const CastDecisions &decisions,
                                      const CastsAdded &added,
                                      llvm::StringRef halfName);

} // namespace dlc
