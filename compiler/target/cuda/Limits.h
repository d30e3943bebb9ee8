// What cuDNN and the generated kernels can compute.
#pragma once

#include "compiler/target/Target.h"

namespace dlc::cuda {

/// As Target's, for every GPU from sm_80 on.
std::optional<std::string> whyNoAttention(By by, mlir::RankedTensorType q,
                                          const ir::AttentionDims &dims,
                                          bool typed);
std::optional<std::string> whyNoNormCall(mlir::Operation *norm);

/// Gives a library's attention the mask that it can have.
void fitMask(ir::AttentionOp op);

} // namespace dlc::cuda
