// SPDX-License-Identifier: Apache-2.0
// The CPU target: calls of oneDNN, and loops compiled by LLVM.
#pragma once

#include "compiler/target/Target.h"

namespace dlc {

std::shared_ptr<const Target> makeCpuTarget(const TargetOptions &options);
void addCpuOptions(OptionTable &table, TargetOptions &options);

} // namespace dlc
