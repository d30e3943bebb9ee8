// SPDX-License-Identifier: Apache-2.0
// Recognises files of samples in formats that dlc does not read.
#pragma once

#include "runtime/base/Status.h"

#include <string>

namespace dlc {

// Code::Failed if the first bytes or the name identify a format that dlc does
// not read, with the format and how to convert it. Success for other files and
// for those that cannot be opened.
Status refuseForeign(const std::string &path);

} // namespace dlc
