// SPDX-License-Identifier: Apache-2.0
// What a program needs of scratch memory, and how much of it for what ranks
// exchange.
#pragma once

#include "runtime/plan/plan.pb.h"

namespace dlc::forecast {

// The most bytes in use at a time.
struct ScratchPeaks {
  uint64_t all = 0;
  uint64_t withoutGathers = 0;   // without parameters that are gathered
  uint64_t withoutExchanges = 0; // nor gradients that are scattered
};
ScratchPeaks scratchPeaks(const plan::Plan &plan, const plan::Program &program);

} // namespace dlc::forecast
