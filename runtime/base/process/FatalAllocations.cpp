// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/process/FatalAllocations.h"

namespace dlc {

// Read after malloc() failed: other thread-local storage may be allocated on
// first use.
__attribute__((tls_model("initial-exec"))) static thread_local int depth = 0;

FatalAllocations::FatalAllocations() noexcept { ++depth; }
FatalAllocations::~FatalAllocations() { --depth; }
bool FatalAllocations::here() noexcept { return depth > 0; }

} // namespace dlc
