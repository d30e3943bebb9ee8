// SPDX-License-Identifier: Apache-2.0
// Reverse-mode rules of the dlc ops, attached to them as external models of
// DifferentiableInterface.
//
// A rule gets the gradients of the op's results and builds those of its
// operands: same shape and element type as the operand, or null where none
// flows (integers, booleans, piecewise constant ops). At kinks the rules follow
// PyTorch: relu'(0) = 0, abs'(0) = 0; maximum and minimum give each side half
// at a tie; reduce_max and reduce_min give every tied element an equal share;
// max_pool gives all to the first maximum of its window.
#pragma once

namespace mlir {
class DialectRegistry;
class MLIRContext;
} // namespace mlir

namespace dlc {

/// Attaches every rule when the dlc dialect is loaded.
void registerGradients(mlir::DialectRegistry &registry);

/// The tables, one a family: gradients/<Family>.cpp.
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
