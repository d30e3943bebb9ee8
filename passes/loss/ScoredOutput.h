// SPDX-License-Identifier: Apache-2.0
// What metrics are computed from: an output of @predict and its labels.
#pragma once

#include "passes/loss/LossKinds.h"

namespace dlc {

/// `options` with the class axis of an output of three dimensions, [rows,
/// classes, steps] or [rows, steps, classes], where the layer that computes it
/// tells and --class-axis does not.
LossOptions withClassAxis(mlir::func::FuncOp predict, const LossKind &kind,
                          unsigned output, LossOptions options);

/// Notes on the module, as `dlc.scores`, what a loss of this kind says of an
/// output and of the labels beside it; nothing for kinds that no metric judges,
/// or if it has been noted before.
void noteScores(mlir::func::FuncOp predict, const LossKind &kind,
                unsigned output, llvm::StringRef labels,
                const LossOptions &options);

/// The same for a loss that the graph computes: nothing unless its logits are
/// an output.
void noteScores(mlir::func::FuncOp predict, ir::SoftmaxCrossEntropyOp op,
                llvm::ArrayRef<mlir::Value> outputs);

} // namespace dlc
