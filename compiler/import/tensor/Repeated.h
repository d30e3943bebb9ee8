// SPDX-License-Identifier: Apache-2.0
// Repeats one element in virtual memory.
#pragma once
#include "runtime/base/Status.h"
#include <memory>
#include <string_view>

namespace dlc::import {

/// Read-only memory of `bytes` bytes that repeats `element` (1, 2, 4 or 8
/// bytes). Uses at most a few MiB of physical memory; threads may read
/// concurrently. Code::Failed if the system cannot map it.
Result<std::shared_ptr<const void>> repeated(std::string_view element,
                                             size_t bytes);

} // namespace dlc::import
