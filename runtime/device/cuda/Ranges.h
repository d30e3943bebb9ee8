// SPDX-License-Identifier: Apache-2.0
// DLC_NVTX=1: the host's part of each command is a range for NVIDIA's
// profilers.
#pragma once

#include "runtime/device/Device.h"

namespace dlc {

// Runs `command` in a range named as describe(spec), with kind and nodes.
Result<std::unique_ptr<Command>> inRange(const CommandSpec &spec,
                                         std::unique_ptr<Command> command);

} // namespace dlc
