// From a training program on tensors to commands on buffers. Each pass is one
// file; the order is in compiler/driver/Pipeline.cpp.
#pragma once

#include <memory>

namespace mlir {
class DialectRegistry;
class Pass;
} // namespace mlir

namespace dlc {

class Target;

/// Integer inputs get the attribute `dlc.limit`: the rows of the table or the
/// classes that they index.
std::unique_ptr<mlir::Pass> createInferLimits();
/// Images are channels last, in convolutions, pooling, batch norm and what
/// stands between them.
std::unique_ptr<mlir::Pass> createLayout();
struct FuseOptions {
  bool apart = false; // each op a cluster of its own
  /// Cheap values are computed again where that reads no more, for a device
  /// whose arithmetic costs nothing next to its memory.
  bool repeat = false;
};
/// Ops become clusters (dlc.fused) that compile to one kernel each.
std::unique_ptr<mlir::Pass> createFuse(FuseOptions options = {});
/// dlc functions become exec programs: state and gradients in flat regions,
/// scratch by liveness.
std::unique_ptr<mlir::Pass> createPlanMemory();
/// Launches of one kernel on adjacent buffers become one launch.
std::unique_ptr<mlir::Pass> createMergeLaunches();
/// Each kernel has its schedule (KernelSchedule.h).
std::unique_ptr<mlir::Pass> createScheduleKernels();

/// Attaches DecomposableInterface to the ops that have it.
void registerDecompositions(mlir::DialectRegistry &registry);
/// `target` is that of the passes which ask one.
void registerLowerPasses(std::shared_ptr<const Target> target);

} // namespace dlc
