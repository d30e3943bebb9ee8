// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/run/Plateau.h"

#include <algorithm>
#include <cmath>

namespace dlc {

static constexpr double kLeastChange = 1e-8;

double rateOf(const PlateauState &state, const plan::Plateau &rule) {
  return std::max(rule.lr() * std::pow(rule.factor(), state.reductions),
                  rule.min_lr());
}

bool takeValue(PlateauState &state, const plan::Plateau &rule, double value,
               bool more) {
  const double bound =
      state.best * (more ? 1 + rule.threshold() : 1 - rule.threshold());
  const bool isBetter =
      std::isfinite(value) &&
      (state.isKnown == 0 || (more ? value > bound : value < bound));
  if (isBetter) {
    state = {state.reductions, 0, 1, value};
    return false;
  }
  if (++state.waited <= static_cast<double>(rule.patience()))
    return false;
  state.waited = 0;
  PlateauState next = state;
  ++next.reductions;
  if (rateOf(state, rule) - rateOf(next, rule) <= kLeastChange)
    return false;
  state = next;
  return true;
}

Result<std::optional<double>> reduceOnPlateau(Executor &executor, double value,
                                              bool more) {
  const plan::Plateau &rule = executor.plan().plateau();
  PlateauState state;
  DLC_TRY(executor.readState("plateau", &state, sizeof state));
  const bool reduces = takeValue(state, rule, value, more);
  DLC_TRY(executor.writeState("plateau", &state, sizeof state));
  return reduces ? std::optional(rateOf(state, rule)) : std::nullopt;
}

} // namespace dlc
