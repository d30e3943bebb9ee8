// SPDX-License-Identifier: Apache-2.0
// Observes the values of a program while it runs.
#pragma once

#include "runtime/device/Device.h"

#include <span>

namespace dlc {

// One command of a run. Its operands are device memory; read them by
// download().
struct ProbedCommand {
  const plan::Command &command;
  int index; // in its program
  std::span<const Operand> inputs, outputs;
  Device &device;
};

// Called for every command of a probed run, in order; an error ends the run. An
// output may alias an input. When after() is called for all_reduce, it has only
// started: its range may change until the wait of its bucket.
class Probe {
public:
  virtual ~Probe() = default;
  virtual Status before(const ProbedCommand &command) = 0;
  virtual Status after(const ProbedCommand &command) = 0;
  // Called instead for a copy to the host's memory or back, or a wait for one:
  // the values are those of the operand, and may not have arrived yet.
  virtual void moved(const ProbedCommand &) {}
};

} // namespace dlc
