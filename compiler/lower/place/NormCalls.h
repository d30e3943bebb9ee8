// Norms as calls of a device's library.
#pragma once

#include <memory>

namespace mlir {
class Pass;
} // namespace mlir

namespace dlc {

/// Batch and layer norms that are by the library, and their gradients, become
/// the ops of LibraryNorm.td, with what directly follows them. Where the
/// library calls norms as they are, this is not needed. Behind dlc-place.
/// Argument: dlc-norm-calls.
std::unique_ptr<mlir::Pass> createNormCalls();

} // namespace dlc
