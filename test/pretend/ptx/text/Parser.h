// SPDX-License-Identifier: Apache-2.0
// Reads the text of a PTX module. Rules: PTX ISA, "Syntax", "State Spaces,
// Types and Variables" and "Directives", as far as LLVM writes them.
#pragma once

#include "Program.h"
#include "Refusal.h"

namespace dlc::ptx {

/// Throws a Refusal that names the line and what is unknown: a directive, a
/// type, a token in the wrong place.
ProgramText parseProgram(std::string_view text);

} // namespace dlc::ptx
