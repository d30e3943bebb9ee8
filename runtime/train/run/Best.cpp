// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/run/Best.h"

#include "runtime/base/files/Files.h"
#include "runtime/base/process/Log.h"

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
  auto metrics = parseMetrics({metric});
  if (!metrics)
    return metrics.status().withContext("--best, which may be loss, too");
  if (!isNumber(metrics->front()))
    return usageError("--best: {} is no number", metric);
  return BestBy{key, metric, isMoreBetter(metrics->front())};
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

} // namespace dlc
