// SPDX-License-Identifier: Apache-2.0
// Records on the module what metrics are computed from: an output of @predict
// and its labels.
#pragma once

#include "passes/loss/LossKinds.h"

namespace dlc {

/// `options` with the class axis of a three-dimensional output, [rows, classes,
/// steps] or [rows, steps, classes], if --class-axis is unset and the layer
/// that computes the output determines it.
LossOptions withClassAxis(mlir::func::FuncOp predict, const LossKind &kind,
                          unsigned output, LossOptions options);

/// Records in the module's attribute `dlc.scores` what a loss of this kind says
/// about an output and the labels beside it. Does nothing for kinds without
/// metrics, or if it has been recorded before.
void noteScores(mlir::func::FuncOp predict, const LossKind &kind,
                unsigned output, llvm::StringRef labels,
                const LossOptions &options);

/// The same for a loss that the graph computes; does nothing unless its logits
/// are an output.
void noteScores(mlir::func::FuncOp predict, ir::SoftmaxCrossEntropyOp op,
                llvm::ArrayRef<mlir::Value> outputs);

} // namespace dlc
