// SPDX-License-Identifier: Apache-2.0
// Norms and their gradients in plain loops of doubles.
#pragma once

#include "runtime/device/commands/Norm.h"

namespace dlc::standin {

// Does the command on the host. A graph of cuDNN may not work in place.
Status runNorm(const CommandSpec &spec);

} // namespace dlc::standin
