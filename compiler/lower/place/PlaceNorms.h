// Norms as calls of a GPU's library.
#pragma once

#include <memory>

namespace mlir {
class Pass;
} // namespace mlir

namespace dlc {

class Target;

/// Batch and layer norms that the target's library has, and their gradients,
/// become the ops of LibraryNorm.td; what it has none for stays, with a remark.
/// Behind dlc-layout. Argument: dlc-place-norms.
std::unique_ptr<mlir::Pass>
createPlaceNorms(std::shared_ptr<const Target> target);

} // namespace dlc
