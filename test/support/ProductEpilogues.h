// SPDX-License-Identifier: Apache-2.0
// Matrix products with epilogues, in plain loops: references for a GPU's
// library. Plans for a CPU do not have them.
#pragma once

#include "runtime/device/cpu/Kinds.h"

namespace dlc {

// The kinds to register with CpuDevice::add.
std::span<const Kind> productEpilogues();

} // namespace dlc
