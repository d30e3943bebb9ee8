// SPDX-License-Identifier: Apache-2.0
// What cuDNN, cuBLASLt and the generated kernels can compute.
#pragma once

#include "compiler/target/Target.h"

namespace dlc::cuda {

/// As Target's, for every GPU from sm_80 on; of all but products and
/// attention. Of attention without times, for GPUs of these SMs.
Ways waysOf(ir::PlaceableInterface op);
Ways waysOfAttention(const ir::AttentionDims &dims, mlir::Type element,
                     const Words &sms);
Ways waysOfEpilogue(ir::MatmulOp product, mlir::Operation *epilogue,
                    mlir::Value kept);

/// Gives a library's attention the mask that it can have.
void fitMask(ir::AttentionOp op);

} // namespace dlc::cuda
