// SPDX-License-Identifier: Apache-2.0
// NVIDIA's GPUs: cuDNN's and cuBLASLt's calls, and kernels of our own.
#pragma once

#include "compiler/target/Target.h"

namespace dlc {

std::shared_ptr<const Target> makeCudaTarget(const TargetOptions &options);
void addCudaOptions(OptionTable &table, TargetOptions &options);
/// See fitTarget; capabilities are as "90".
Status fitCudaOptions(TargetOptions &options, const Words &capabilities);

} // namespace dlc
