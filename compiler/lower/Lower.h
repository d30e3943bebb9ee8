// From a training program on tensors to commands on buffers. Each pass is one
// file; the order is in compiler/driver/Pipeline.cpp.
#pragma once

#include <memory>

namespace mlir {
class DialectRegistry;
class Pass;
} // namespace mlir

namespace dlc {

/// Integer inputs get the attribute `dlc.limit`: the rows of the table or the
/// classes that they index.
std::unique_ptr<mlir::Pass> createInferLimits();
/// Images are channels last, in convolutions, pooling, batch norm and what
/// stands between them.
std::unique_ptr<mlir::Pass> createLayout();
/// Ops become clusters (dlc.fused) that compile to one kernel each; `apart`:
/// each op a cluster of its own.
std::unique_ptr<mlir::Pass> createFuse(bool apart = false);
/// dlc functions become exec programs: state and gradients in flat regions,
/// scratch by liveness.
std::unique_ptr<mlir::Pass> createPlanMemory();
/// Launches of one kernel on adjacent buffers become one launch.
std::unique_ptr<mlir::Pass> createMergeLaunches();

/// Attaches DecomposableInterface to the ops that have it.
void registerDecompositions(mlir::DialectRegistry &registry);
void registerLowerPasses();

} // namespace dlc
