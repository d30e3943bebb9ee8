// SPDX-License-Identifier: Apache-2.0
// The command line as data, for completions and man pages.
#pragma once

#include "runtime/base/Json.h"
#include "tools/dlc/Commands.h"

namespace dlc::tool {

// {"name", "help", "footer", "options": [{"names", "word", "optional",
// "repeats", "choices", "help", "group"}], "arguments": [{"name", "help",
// "many"}], "commands": [...]}. "word" is the placeholder of the value, empty
// for a switch; "choices" is empty if any value is accepted; an "optional"
// value must follow '='.
Json treeOf(const CLI::App &app);

// The tree of a program next to this one.
Result<Json> treeOfProgram(const std::string &name);
// The tree of the tool, with the commands of dlc-compile, next to this program.
Result<Json> wholeTree(const CLI::App &app);

} // namespace dlc::tool
