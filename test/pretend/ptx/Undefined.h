// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "Instruction.h"

namespace dlc::ptx {

/// Makes instructions that read a register which not all paths to it have
/// written check that this thread's path has, and those that write such
/// registers note it. Others stay as fast as they are. Returns how many read.
size_t checkUndefined(Kernel &kernel);

} // namespace dlc::ptx
