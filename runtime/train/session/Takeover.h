// SPDX-License-Identifier: Apache-2.0
// Going on with another program: another rate, optimizer, precision, batch,
// target or number of ranks, or another version of dlc.
#pragma once

#include "runtime/exec/Executor.h"
#include "runtime/plan/Model.h"

#include <string>
#include <vector>

namespace dlc {

// What of a checkpoint's state a program has taken over.
struct Takeover {
  // Optimizers by name. One that is another starts its own moments, and its
  // steps and schedule count from 0.
  std::string before, now;
  bool startsOptimizer() const { return before != now; }

  size_t taken = 0; // states, by name
  // States that the checkpoint lacks, or has with another shape or type, which
  // stay as compiled; states whose float type is another; tensors that are no
  // state of the program.
  std::vector<std::string> missing, unlike, rounded, unused;
};

// Of a checkpoint, by an executor whose state is as compiled. Averages that the
// checkpoint lacks start with the values of what they average. What a schedule
// and a window of micro-batches count is the program's own. On rank 0, as
// loading a state. Code::Incompatible if no trained parameter is taken.
Result<Takeover> takeOver(Executor &executor, const Model &from);

} // namespace dlc
