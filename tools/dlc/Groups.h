// SPDX-License-Identifier: Apache-2.0
// Groups of dlc's commands, and commands that have moved into others.
#pragma once

#include "tools/dlc/Commands.h"

namespace dlc::tool {

// Headings of `dlc --help`, in order.
inline constexpr const char *kMake = "Make", *kRun = "Run", *kLook = "Look",
                            *kFindFaults = "Find faults";

// Puts the command into a group.
void setGroup(CommandLine &line, const char *command, const char *group);

// Adds dlc debug, the parent of replay, compare, diff and flight.
CLI::App &addDebug(CommandLine &line);

// The arguments as strings, argv[0] first. A command under its old name, such
// as `dlc diff`, is replaced by the new one, `dlc debug diff`, with a warning.
std::vector<std::string> withNewNames(int argc, char **argv);

} // namespace dlc::tool
