// SPDX-License-Identifier: Apache-2.0
// Convolutions in plain loops.
#pragma once

#include "runtime/device/commands/Conv.h"

namespace dlc {

std::unique_ptr<Command> referenceConv(const CommandSpec &spec,
                                       const Conv &conv, bool hasBias);
std::unique_ptr<Command> referenceConvBackwardData(const CommandSpec &spec,
                                                   const Conv &conv);
std::unique_ptr<Command> referenceConvBackwardFilter(const CommandSpec &spec,
                                                     const Conv &conv);

} // namespace dlc
