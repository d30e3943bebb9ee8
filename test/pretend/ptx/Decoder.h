// SPDX-License-Identifier: Apache-2.0
// Makes the instructions of a kernel from its text.
#pragma once

#include "Instruction.h"
#include "text/Program.h"

namespace dlc::ptx {

/// Throws a Refusal that names the line and the opcode, register, label or
/// modifier that is unknown.
Kernel decodeKernel(const ProgramText &program, const Function &function);

} // namespace dlc::ptx
