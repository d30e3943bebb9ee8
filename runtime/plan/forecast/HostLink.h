// SPDX-License-Identifier: Apache-2.0
// The times of copies between a device and its host that run in parallel with
// commands.
#pragma once

#include "runtime/plan/Figures.h"
#include "runtime/plan/plan.pb.h"

#include <map>

namespace dlc::forecast {

// One lane per direction: copies of a direction run one after another, each
// from its start, or from the end of the one before.
class HostLink {
public:
  enum class Direction { ToHost, ToDevice };

  // Returns when the copy ends that commands start at `now`.
  double start(int64_t copy, Direction direction, double now, double seconds);
  // Returns how long commands wait at `now` for the copy.
  double wait(int64_t copy, double now);
  // One of the two, for a command of a plan; returns how long others wait.
  double pass(const plan::Command &command, double now, double seconds);

  double seconds = 0; // of all copies
  double exposed = 0; // that commands have waited for copies

private:
  double free_[2] = {}; // by direction
  std::map<int64_t, double> ends_;
};

// The copies of one run of a program, predicted for a GPU.
struct HostTraffic {
  int64_t copies = 0;
  uint64_t bytes = 0;
  double seconds = 0, exposed = 0;
};
HostTraffic hostTraffic(const GpuFigures &gpu, const plan::Program &program);

} // namespace dlc::forecast
