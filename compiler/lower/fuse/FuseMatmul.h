// Matrix products as generated kernels.
#pragma once

#include "compiler/dialect/Dlc.h"
#include "compiler/target/Target.h"

namespace mlir {
class Pass;
}

namespace dlc {

/// Products of halves become clusters with what computes their operands and
/// what is computed from them, where that is predicted to be faster than
/// library calls, as `target` says; `always`: wherever it is possible. After
/// dlc-fuse. Argument: dlc-fuse-matmul.
std::unique_ptr<mlir::Pass>
createFuseMatmul(std::shared_ptr<const Target> target, bool always = false);

/// One product if all of them share b.
ProductShape shapeOf(ir::MatmulOp op);
/// Bytes of a value, and of all that an op reads and writes.
double bytesOf(mlir::Value v);
double trafficOf(mlir::Operation *op);

} // namespace dlc
