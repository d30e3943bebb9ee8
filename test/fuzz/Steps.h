// SPDX-License-Identifier: Apache-2.0
// Two training steps of an artifact, on samples of zeros and small labels.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>

namespace dlc::fuzz {

// Bytes that an artifact may hold in memory to be run here.
inline constexpr uint64_t kMemory = 128 << 20;

// Nothing where a step would take long because the model is large.
Status trainTwoSteps(const std::string &artifact);

} // namespace dlc::fuzz
