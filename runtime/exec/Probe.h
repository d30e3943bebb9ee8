// SPDX-License-Identifier: Apache-2.0
// What may look at the values of a program while it runs.
#pragma once

#include "runtime/device/Device.h"

#include <span>

namespace dlc {

// One command of a run. Its memory is the device's: download() from there.
struct ProbedCommand {
  const plan::Command &command;
  int index; // in its program
  std::span<const Operand> inputs, outputs;
  Device &device;
};

// Called for every command of a probed run, in order; an error ends the run. An
// output may lie on an input. all_reduce has only started when after() is
// called for it: until the wait of its bucket, its range may change.
class Probe {
public:
  virtual ~Probe() = default;
  virtual Status before(const ProbedCommand &command) = 0;
  virtual Status after(const ProbedCommand &command) = 0;
};

} // namespace dlc
