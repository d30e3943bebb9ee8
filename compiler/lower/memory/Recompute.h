// SPDX-License-Identifier: Apache-2.0
// Options of dlc-recompute.
#pragma once

#include <string>
#include <vector>

namespace llvm {
struct LogicalResult;
}
namespace mlir {
class ModuleOp;
}

namespace dlc {

/// --offload: whether activations are copied to the host's memory to meet a
/// budget: where that is predicted to be faster than recomputing them, never,
/// or instead of recomputing any.
enum class OffloadMode { Auto, Off, Only };

struct MemoryOptions {
  /// --recompute=REGEX: recomputes activations of ONNX nodes whose names match.
  std::vector<std::string> recompute;
  /// --memory=SIZE: bytes of all regions of one rank; further activations are
  /// recomputed or offloaded to stay below it; 0: no limit.
  int64_t budget = 0;
  OffloadMode offload = OffloadMode::Auto;
  /// --loss-chunk=ROWS: rows of the logits per chunk; 0: by their size.
  int64_t lossRows = 0;
  static constexpr int64_t kWhole = -1;
};

/// Whether each expression matches the name of a node of the imported module;
/// else an error.
llvm::LogicalResult checkRecompute(mlir::ModuleOp imported,
                                   const MemoryOptions &options);

} // namespace dlc
