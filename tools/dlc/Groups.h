// SPDX-License-Identifier: Apache-2.0
// The groups of dlc's commands, and commands that moved below others.
#pragma once

#include "tools/dlc/Commands.h"

namespace dlc::tool {

// Headings of `dlc --help`, in order.
inline constexpr const char *kMake = "Make", *kRun = "Run", *kLook = "Look",
                            *kFindFaults = "Find faults";

// Moves the command into a group.
void setGroup(CommandLine &line, const char *command, const char *group);

// dlc debug, which has replay, compare, diff, reduce and flight below it.
CLI::App &addDebug(CommandLine &line);

// The arguments, argv[0] first and without a null at the end. A command that
// was once called `dlc diff` gets its new name, `dlc debug diff`, with a
// warning.
std::vector<std::string> withNewNames(int argc, char **argv);

} // namespace dlc::tool
