// SPDX-License-Identifier: Apache-2.0
// What dlc doctor finds that is no device's: each section looks, and changes
// nothing.
#pragma once

#include "runtime/collective/launch/Launch.h"
#include "runtime/device/Findings.h"

namespace dlc::tool {

// The CPU: model, instructions that kernels are made for, caches, cores of the
// machine, of this process (its affinity) and of its control group (a quota).
Findings findCpu();

// Memory that is there and that may be used; shared memory, the limits of
// open files, space for temporary files.
Findings findMemory();

// The folder of caches: rights, size; the compiler beside this program.
Findings findFiles();

// Interfaces that are up with their addresses, the host's name and whether
// others could reach it by that.
Findings findNetwork();

// What this process is for its launcher, and what it would compute with.
Findings findUse(const Result<Launch> &launch);

} // namespace dlc::tool
