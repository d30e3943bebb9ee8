// SPDX-License-Identifier: Apache-2.0
// How much memory this machine has left for this process. Linux grants more
// than there is and ends a process that then uses it: what is large asks first.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>

namespace dlc {

// Bytes that could be used now: of the machine with its swap, and of the
// control group of this process. What cannot be found out is no limit.
uint64_t availableMemory();

// Code::Limit if `bytes` more are not available: "what needs 3 TiB of memory,
// ...". Small sizes are not looked at.
Status checkMemory(uint64_t bytes, std::string_view what);

} // namespace dlc
