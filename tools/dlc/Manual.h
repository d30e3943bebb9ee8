// SPDX-License-Identifier: Apache-2.0
// Generates man pages from the command line.
#pragma once

#include "tools/dlc/Tree.h"

namespace dlc::tool {

// dlc.1, and dlc-COMMAND.1 for each: names and texts in roff's man macros.
std::vector<std::pair<std::string, std::string>> manualPages(const Json &tree);

} // namespace dlc::tool
