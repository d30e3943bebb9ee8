// SPDX-License-Identifier: Apache-2.0
// Peak use of scratch memory by a program, and by what its ranks exchange.
#pragma once

#include "runtime/plan/plan.pb.h"

namespace dlc::forecast {

// The most bytes in use at once.
struct ScratchPeaks {
  uint64_t all = 0;
  uint64_t withoutGathers = 0;   // without gathered parameters
  uint64_t withoutExchanges = 0; // also without scattered gradients
};
ScratchPeaks scratchPeaks(const plan::Plan &plan, const plan::Program &program);

} // namespace dlc::forecast
