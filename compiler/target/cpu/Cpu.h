// SPDX-License-Identifier: Apache-2.0
// CPUs: oneDNN's calls, and loops by LLVM.
#pragma once

#include "compiler/target/Target.h"

namespace dlc {

std::shared_ptr<const Target> makeCpuTarget(const TargetOptions &options);
void addCpuOptions(OptionTable &table, TargetOptions &options);

} // namespace dlc
