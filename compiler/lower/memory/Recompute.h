// Activations that are not kept for the backward part but computed again.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace llvm {
struct LogicalResult;
}
namespace mlir {
class ModuleOp;
class Pass;
} // namespace mlir

namespace dlc {

struct MemoryOptions {
  /// --recompute=REGEX: the activations of ONNX nodes that it is found in.
  std::vector<std::string> recompute;
  /// --memory=SIZE: bytes of all regions of one rank, which further activations
  /// are computed again for; 0: no limit.
  int64_t budget = 0;
};

/// Whether each expression is found in the name of a node of an imported
/// module, with an error where not.
llvm::LogicalResult checkRecompute(mlir::ModuleOp imported,
                                   const MemoryOptions &options);

/// Of fused functions with gradients (Activations.h).
std::unique_ptr<mlir::Pass> createRecompute();
std::unique_ptr<mlir::Pass> createRecompute(const MemoryOptions &options);

} // namespace dlc
