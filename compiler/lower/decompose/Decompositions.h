// Ops whose meaning is given in elementwise, reduce and shape ops, so that a
// device without a call for them needs no kernel: softmax, norms, losses,
// global norms; where no library has them also pooling, attention and
// scatter_add; and the gradients of all these and of activations. All of them
// compute in f32 when the operands are half floats, and keep reduced dimensions
// so that the fused rows line up.
#pragma once

#include <cstdint>
#include <memory>

namespace mlir {
class DialectRegistry;
class MLIRContext;
class Pass;
} // namespace mlir

namespace dlc {

/// Replaces every op that has DecomposableInterface by its meaning, if it is
/// placed so or could be no library call. Argument: dlc-decompose.
std::unique_ptr<mlir::Pass> createDecompose();

/// Reductions of many elements to at most `fewOutputs` become two stages of a
/// chunking that depends on the shape alone, so that threads share the work and
/// the result does not depend on their number. Argument: dlc-split-reductions.
std::unique_ptr<mlir::Pass> createSplitReductions(int64_t fewOutputs = 16);

/// Attaches DecomposableInterface when the dlc dialect is loaded.
void registerDecompositions(mlir::DialectRegistry &registry);

void attachActivationDecompositions(mlir::MLIRContext &context);
void attachAttentionDecompositions(mlir::MLIRContext &context);
void attachNormDecompositions(mlir::MLIRContext &context);
void attachBatchNormDecompositions(mlir::MLIRContext &context);
void attachLookupDecompositions(mlir::MLIRContext &context);
void attachPoolDecompositions(mlir::MLIRContext &context);
void attachLossDecompositions(mlir::MLIRContext &context);
void attachFlatDecompositions(mlir::MLIRContext &context);

} // namespace dlc
