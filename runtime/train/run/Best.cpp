// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/run/Best.h"

#include "runtime/base/files/Files.h"
#include "runtime/base/process/Log.h"
#include "runtime/train/metrics/Metrics.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace dlc {
namespace {

bool isBetter(double value, double than, bool more, double by) {
  if (!std::isfinite(value))
    return false;
  return std::isnan(than) || (more ? value > than + by : value < than - by);
}

} // namespace

Result<BestBy> parseBest(const std::string &text) {
  const size_t line = text.find('_');
  const std::string head = text.substr(0, line);
  const bool ofSet = line != text.npos && (head == "val" || head == "ema" ||
                                           head.starts_with("ema."));
  const std::string metric = ofSet ? text.substr(line + 1) : text;
  const std::string key = (ofSet ? head : "val") + "_" + metric;
  if (metric == "loss")
    return BestBy{key, metric, false};
  DLC_ASSIGN(const auto metrics, parseMetrics({metric}).withContext(
                                     "--best, which may be loss, too"));
  if (!isNumber(metrics.front()))
    return usageError("--best: {} is no number", metric);
  return BestBy{key, metric, isMoreBetter(metrics.front())};
}

bool takeValue(Best &best, double value, int64_t step, bool more,
               double minDelta) {
  const bool improves = isBetter(value, best.reference, more, minDelta);
  best.waited = improves ? 0 : best.waited + 1;
  if (improves)
    best.reference = value;
  if (!isBetter(value, best.value, more, 0))
    return false;
  best.value = value;
  best.step = step;
  return true;
}

void linkBest(const std::string &run, int64_t step) {
  const std::string link = run + "/best", made = link + ".new";
  const std::string target = fmt::format("checkpoint-{}", step);
  ::unlink(made.c_str());
  if (step < 0 || !exists(run + "/" + target)) {
    ::unlink(link.c_str());
    return;
  }
  if (::symlink(target.c_str(), made.c_str()) == 0 &&
      ::rename(made.c_str(), link.c_str()) == 0)
    return;
  warning("cannot make '{}' a link to {}: {}", link, target,
          std::strerror(errno));
  ::unlink(made.c_str());
}

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
  if (++state.waited <= double(rule.patience()))
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
