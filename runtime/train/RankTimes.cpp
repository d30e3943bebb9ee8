// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/RankTimes.h"

#include "runtime/collective/Hosts.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace dlc {
namespace {

std::string textOf(const RankTime &time, double steps) {
  return fmt::format("{} {} {} {} {} {}", time.step / steps,
                     time.waited / steps, time.computed / steps,
                     time.blocked / steps, time.made / steps, hostName());
}

RankTime parseTime(const std::string &text) {
  RankTime time;
  const char *at = text.c_str();
  for (double *value :
       {&time.step, &time.waited, &time.computed, &time.blocked, &time.made}) {
    char *end = nullptr;
    *value = std::strtod(at, &end);
    at = end;
  }
  time.host = *at == ' ' ? at + 1 : at;
  return time;
}

// Time that other ranks may have to wait for.
double workOf(const RankTime &time) {
  return time.waited + (std::isnan(time.computed) ? 0 : time.computed);
}

// The lower median.
double medianOf(std::span<const RankTime> ranks, const auto &valueOf) {
  std::vector<double> values;
  for (const RankTime &rank : ranks)
    values.push_back(valueOf(rank));
  const auto middle =
      values.begin() + static_cast<ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

} // namespace

SlowRank slowRank(std::span<const RankTime> ranks) {
  constexpr double kMuch = 0.1;
  const auto slow = std::ranges::max_element(ranks, {}, workOf);
  const auto more = [&](double RankTime::*value) {
    return (*slow).*value -
           medianOf(ranks, [&](const RankTime &rank) { return rank.*value; });
  };
  const double waits = more(&RankTime::waited),
               computes = more(&RankTime::computed);
  const bool isWaiting = !(computes > waits);
  double lost = workOf(*slow) - medianOf(ranks, workOf);
  if (isWaiting)
    lost = std::min(lost, more(&RankTime::made));
  if (!(lost >= kMuch * slow->step) || lost <= 0)
    return {};
  const bool hasHosts = std::ranges::any_of(
      ranks, [&](const RankTime &r) { return r.host != slow->host; });
  const std::string why =
      isWaiting
          ? fmt::format("waits {:.3g} ms a step for samples, the median "
                        "rank {:.3g} ms",
                        1e3 * slow->waited, 1e3 * (slow->waited - waits))
          : fmt::format("computes {:.2g} times as long as the median rank",
                        slow->computed / (slow->computed - computes));
  const auto rank = int(slow - ranks.begin());
  return {rank, isWaiting,
          fmt::format("rank {}{} {}: the others wait {:.3g} of {:.3g} ms a "
                      "step for it",
                      rank, hasHosts ? " (host " + slow->host + ")" : "", why,
                      1e3 * lost, 1e3 * slow->step)};
}

Result<std::optional<RanksEvent>> RankTimes::add(const StepReport &report) {
  if (ranks_.size() == 1)
    return std::nullopt;
  if (count_++ < 0) {
    sum_ = {};
    return std::nullopt;
  }
  sum_.waited += report.waited;
  sum_.made += report.made;
  sum_.computed += report.computed.value_or(NAN);
  sum_.blocked += report.blocked.value_or(NAN);
  sum_.step = std::isnan(sum_.computed)
                  ? sum_.step + report.seconds
                  : sum_.waited + sum_.computed + sum_.blocked;
  if (report.step % every_ != 0 || count_ < kLeast)
    return std::nullopt;
  DLC_ASSIGN(const auto texts, ranks_.allGather(textOf(sum_, double(count_))));
  count_ = 0;
  sum_ = {};
  RanksEvent event{report.step, {}, {}};
  for (const std::string &text : texts)
    event.ranks.push_back(parseTime(text));
  event.slow = slowRank(event.ranks);
  return event;
}

} // namespace dlc
