// SPDX-License-Identifier: Apache-2.0
// The forms of statements that do not branch: from operands to an instruction.
#pragma once

#include "Emitter.h"
#include "Launch.h"

namespace dlc::ptx {

/// Appends the statement's instruction. Throws a Refusal: an unknown opcode,
/// modifier or operand.
void decodeForm(Emitter &emit, const Statement &statement);

/// ld.param of a parameter of the kernel.
void decodeParameterLoad(Emitter &emit, const Statement &statement,
                         const Kernel::Parameter &parameter);

} // namespace dlc::ptx
