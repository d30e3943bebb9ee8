// SPDX-License-Identifier: Apache-2.0
// Files of samples that other programs write, and that are not read.
#pragma once

#include "runtime/base/Status.h"

#include <string>

namespace dlc {

// Code::Failed for a file that is known by its first bytes, or by its name, to
// be of a format that dlc does not read: which one, and what to make of it.
// Anything else, and what cannot be opened, is left to who reads it.
Status refuseForeign(const std::string &path);

} // namespace dlc
