// SPDX-License-Identifier: Apache-2.0
// The command line as data: what completions and man pages are made of.
#pragma once

#include "runtime/base/Json.h"
#include "tools/dlc/Commands.h"

namespace dlc::tool {

// {"name", "help", "footer", "options": [{"names", "word", "optional",
// "repeats", "choices", "help", "group"}], "arguments": [{"name", "help",
// "many"}], "commands": [...]}; "word" is empty for a flag alone, "choices" for
// any word; an "optional" word comes behind '='.
Json treeOf(const CLI::App &app);

// The tree of a program that lies beside this one.
Result<Json> treeOfProgram(const std::string &name);

// Prints the tree, if that is what the arguments ask for: `--tree`.
bool printTree(const CommandLine &line, int argc, char **argv);

} // namespace dlc::tool
