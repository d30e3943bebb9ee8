// SPDX-License-Identifier: Apache-2.0
// Ops whose meaning is given in elementwise, reduce and shape ops, so that a
// device without a call for them needs no kernel: softmax, norms, losses,
// global norms; where no library has them also pooling, attention and
// scatter_add; recurrent layers and CTC's paths, a step after the other; and
// the gradients of all these and of activations. All of them
// compute in f32 when the operands are half floats, and keep reduced dimensions
// so that the fused rows line up.
#pragma once

namespace mlir {
class MLIRContext;
}

namespace dlc {

/// Attach DecomposableInterface; registerDecompositions (Lower.h) calls all.
void attachActivationDecompositions(mlir::MLIRContext &context);
void attachAttentionDecompositions(mlir::MLIRContext &context);
void attachNormDecompositions(mlir::MLIRContext &context);
void attachBatchNormDecompositions(mlir::MLIRContext &context);
void attachLookupDecompositions(mlir::MLIRContext &context);
void attachPoolDecompositions(mlir::MLIRContext &context);
void attachLossDecompositions(mlir::MLIRContext &context);
void attachRecurrenceDecompositions(mlir::MLIRContext &context);
void attachPathDecompositions(mlir::MLIRContext &context);
void attachFlatDecompositions(mlir::MLIRContext &context);

} // namespace dlc
