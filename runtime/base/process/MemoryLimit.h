// SPDX-License-Identifier: Apache-2.0
// The memory available to this process. Linux overcommits memory and kills a
// process that uses too much: check before large allocations.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>

namespace dlc {

// Available bytes: of the machine with its swap, and of this process's control
// group. An unknown value is no limit.
uint64_t availableMemory();

// Code::Limit if `bytes` more are not available: "what needs 3 TiB of memory,
// ...". Small sizes are not checked.
Status checkMemory(uint64_t bytes, std::string_view what);

} // namespace dlc
