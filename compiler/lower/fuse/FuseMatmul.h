// Matrix products as generated kernels.
#pragma once

#include "compiler/placement/Wishes.h"
#include <memory>

namespace mlir {
class Pass;
}

namespace dlc {

class Target;

/// Places the products that dlc-place has left: they become clusters with what
/// computes their operands and what is computed from them, where that is wished
/// or predicted to be faster than library calls, as `target` says. After
/// dlc-fuse. Argument: dlc-fuse-matmul.
std::unique_ptr<mlir::Pass>
createFuseMatmul(std::shared_ptr<const Target> target,
                 const Wishes &wishes = {});

} // namespace dlc
