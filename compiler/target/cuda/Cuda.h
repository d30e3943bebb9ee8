// SPDX-License-Identifier: Apache-2.0
// NVIDIA GPUs: calls of cuDNN and cuBLASLt, and generated kernels.
#pragma once

#include "compiler/target/Target.h"

namespace dlc {

std::shared_ptr<const Target> makeCudaTarget(const TargetOptions &options);
void addCudaOptions(OptionTable &table, TargetOptions &options);
/// See fitTarget; capabilities are written as "90".
Status fitCudaOptions(TargetOptions &options, const Words &capabilities);

} // namespace dlc
