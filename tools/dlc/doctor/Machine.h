// SPDX-License-Identifier: Apache-2.0
// Findings of dlc doctor other than devices. The checks change nothing.
#pragma once

#include "runtime/collective/launch/Launch.h"
#include "runtime/device/Findings.h"

namespace dlc::tool {

// CPU: model, instruction sets that kernels use, caches, and the cores of the
// machine, of this process (affinity) and of its control group (quota).
Findings findCpu();

// Total and usable memory, shared memory, limit of open files, and space for
// temporary files.
Findings findMemory();

// Cache folder: permissions, size; and the compiler next to this program.
Findings findFiles();

// Active interfaces with their addresses, the host name, and whether other
// hosts could reach it by that name.
Findings findNetwork();

// This process's role for its launcher, and the device that it would use.
Findings findUse(const Result<Launch> &launch);

} // namespace dlc::tool
