// SPDX-License-Identifier: Apache-2.0
// Products with the work around them, in plain loops: what a GPU's library is
// compared with. No plan for a CPU has them.
#pragma once

#include "runtime/device/cpu/Kinds.h"

namespace dlc {

// For CpuDevice::add.
std::span<const Kind> productEpilogues();

} // namespace dlc
