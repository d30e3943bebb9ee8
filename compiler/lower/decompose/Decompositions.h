// SPDX-License-Identifier: Apache-2.0
// Ops that are defined in terms of elementwise, reduce and shape ops, so that a
// device without a call for them needs no kernel: softmax, norms, losses,
// global norms; if no library has them, also pooling, attention and
// scatter_add; recurrent layers and CTC's paths, step by step; and the
// gradients of all these and of activations. For 16-bit operands they compute
// in f32. Reduced dimensions are kept, so that the shapes of fused rows agree.
#pragma once

namespace mlir {
class MLIRContext;
}

namespace dlc {

/// Attach DecomposableInterface; registerDecompositions (Lower.h) calls them.
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
void attachFloat8Decompositions(mlir::MLIRContext &context);

} // namespace dlc
