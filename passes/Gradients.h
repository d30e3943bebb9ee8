// SPDX-License-Identifier: Apache-2.0
// Reverse-mode rules of the dlc ops, attached to them as external models of
// DifferentiableInterface.
//
// A rule takes the gradients of the op's results and builds the gradients of
// its operands: of the operand's shape and element type, or null where there is
// none (integers, booleans, piecewise constant ops). At kinks the rules follow
// PyTorch: relu'(0) = 0, abs'(0) = 0; maximum and minimum split the gradient in
// halves at a tie; reduce_max and reduce_min split it evenly among tied
// elements; max_pool passes it to the first maximum of the window.
#pragma once

namespace mlir {
class DialectRegistry;
class MLIRContext;
} // namespace mlir

namespace dlc {

/// Attaches every rule when the dlc dialect is loaded.
void registerGradients(mlir::DialectRegistry &registry);

/// The tables of rules, one per family of ops, in gradients/<Family>.cpp.
void attachAttentionGradients(mlir::MLIRContext &context);
void attachCustomGradients(mlir::MLIRContext &context);
void attachElementwiseGradients(mlir::MLIRContext &context);
void attachLinearGradients(mlir::MLIRContext &context);
void attachNormGradients(mlir::MLIRContext &context);
void attachRecurrenceGradients(mlir::MLIRContext &context);
void attachReduceGradients(mlir::MLIRContext &context);
void attachShapeGradients(mlir::MLIRContext &context);
void attachLossGradients(mlir::MLIRContext &context);

} // namespace dlc
