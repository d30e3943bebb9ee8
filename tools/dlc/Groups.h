// SPDX-License-Identifier: Apache-2.0
// Groups of dlc's commands.
#pragma once

#include "tools/dlc/Commands.h"

namespace dlc::tool {

// Headings of `dlc --help`, in order.
inline constexpr const char *kMake = "Make", *kRun = "Run", *kLook = "Look",
                            *kFindFaults = "Find faults";

// Puts the command into a group.
void setGroup(CommandLine &line, const char *command, const char *group);

// Adds dlc debug, the parent of replay, compare, diff, reduce and flight.
CLI::App &addDebug(CommandLine &line);

} // namespace dlc::tool
