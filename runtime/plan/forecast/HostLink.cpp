// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/forecast/HostLink.h"

#include "runtime/plan/Attributes.h"
#include "runtime/plan/forecast/Forecast.h"

#include <algorithm>

namespace dlc::forecast {

double HostLink::start(int64_t copy, Direction direction, double now,
                       double time) {
  double &free = free_[static_cast<size_t>(direction)];
  free = std::max(free, now) + time;
  seconds += time;
  return ends_[copy] = free;
}

double HostLink::wait(int64_t copy, double now) {
  const double waited = std::max(0.0, ends_[copy] - now);
  exposed += waited;
  return waited;
}

double HostLink::pass(const plan::Command &command, double now,
                      double seconds) {
  const int64_t copy = plan::intAttribute(command, "copy", -1);
  if (command.kind() == "wait_copy")
    return wait(copy, now);
  start(copy,
        command.kind() == "offload" ? Direction::ToHost : Direction::ToDevice,
        now, seconds);
  return 0;
}

HostTraffic hostTraffic(const GpuFigures &gpu, const plan::Program &program) {
  HostTraffic traffic;
  HostLink link;
  double now = 0;
  for (const plan::Command &c : program.commands()) {
    const double seconds = secondsOf(gpu, program, c);
    if (!plan::copiesBesideCommands(c)) {
      now += seconds;
      continue;
    }
    now += link.pass(c, now, seconds);
    if (c.kind() == "wait_copy")
      continue;
    ++traffic.copies;
    traffic.bytes += c.bytes() / 2; // read and written
  }
  traffic.seconds = link.seconds;
  traffic.exposed = link.exposed;
  return traffic;
}

} // namespace dlc::forecast
