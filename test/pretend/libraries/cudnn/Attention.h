// SPDX-License-Identifier: Apache-2.0
// Attention and its gradient in plain loops of doubles.
#pragma once

#include "runtime/device/commands/Attention.h"

namespace dlc::standin {

// Does the command on the host.
Status runAttention(const CommandSpec &spec);

} // namespace dlc::standin
