// Makes kernels of attention.
#pragma once

#include <memory>

namespace mlir {
class Pass;
}

namespace dlc {

/// Attention that is placed as "generated" becomes a cluster, its gradient two:
/// one over queries, one over keys. After dlc-fuse. Argument:
/// dlc-generate-attention.
std::unique_ptr<mlir::Pass> createGenerateAttention();

} // namespace dlc
