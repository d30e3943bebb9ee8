// SPDX-License-Identifier: Apache-2.0
// One element again and again, as memory that is not there.
#pragma once
#include "runtime/base/Status.h"
#include <memory>
#include <string_view>

namespace dlc::import {

/// `bytes` bytes that repeat `element` (1, 2, 4 or 8 bytes), to be read only.
/// At most a few MiB exist, however many there are; a process can read from it
/// in any thread. Code::Failed where the system refuses to map it.
Result<std::shared_ptr<const void>> repeated(std::string_view element,
                                             size_t bytes);

} // namespace dlc::import
