// SPDX-License-Identifier: Apache-2.0
// Commands of the compiler, which add themselves to dlc's command line.
#pragma once

#include "tools/dlc/Commands.h"

namespace dlc::tool {

void addCompile(CommandLine &line);
void addCheck(CommandLine &line);
void addConfig(CommandLine &line);
void addExport(CommandLine &line);
void addDiff(CommandLine &line, CLI::App &parent);
void addGraph(CommandLine &line);
void addReduce(CommandLine &line, CLI::App &parent);

} // namespace dlc::tool
