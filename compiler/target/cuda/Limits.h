// SPDX-License-Identifier: Apache-2.0
// The limits of cuDNN, cuBLASLt and the generated kernels.
#pragma once

#include "compiler/target/Target.h"

namespace dlc::cuda {

/// As in Target, for all GPUs from sm_80 on. waysOf excludes products and
/// attention; waysOfAttention has no times, and is for GPUs of these SMs.
Ways waysOf(ir::PlaceableInterface op);
Ways waysOfAttention(const ir::AttentionDims &dims, mlir::Type element,
                     const Words &sms);
Ways waysOfEpilogue(ir::MatmulOp product, mlir::Operation *epilogue,
                    mlir::Value kept);

/// Replaces the mask of an attention by one that the library supports.
void fitMask(ir::AttentionOp op);

} // namespace dlc::cuda
