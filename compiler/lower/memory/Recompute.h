// SPDX-License-Identifier: Apache-2.0
// What dlc-recompute is asked for.
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

struct MemoryOptions {
  /// --recompute=REGEX: the activations of ONNX nodes that it is found in.
  std::vector<std::string> recompute;
  /// --memory=SIZE: bytes of all regions of one rank, which further activations
  /// are computed again for; 0: no limit.
  int64_t budget = 0;
  /// --loss-chunk=ROWS: of a piece of the logits; 0: by their size.
  int64_t lossRows = 0;
  static constexpr int64_t kWhole = -1;
};

/// Whether each expression is found in the name of a node of an imported
/// module, with an error where not.
llvm::LogicalResult checkRecompute(mlir::ModuleOp imported,
                                   const MemoryOptions &options);

} // namespace dlc
