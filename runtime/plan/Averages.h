// SPDX-License-Identifier: Apache-2.0
// Sets of moving averages, numbered from 1: states "ema/NAME" of the first set,
// "ema.2/NAME" of the second, and so on.
#pragma once

#include "runtime/plan/plan.pb.h"

#include <algorithm>
#include <string>

namespace dlc::plan {

inline std::string averagesName(int set) {
  return set == 1 ? "ema" : "ema." + std::to_string(set);
}

// Whether the state is the average of state.of() in that set.
inline bool isAverage(const State &state, int set) {
  return state.role() == "ema" &&
         state.name() == averagesName(set) + "/" + state.of();
}

inline int countAverages(const Plan &plan) {
  int sets = 0;
  while (std::any_of(
      plan.states().begin(), plan.states().end(),
      [&](const State &state) { return isAverage(state, sets + 1); }))
    ++sets;
  return sets;
}

} // namespace dlc::plan
