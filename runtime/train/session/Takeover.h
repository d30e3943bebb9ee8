// SPDX-License-Identifier: Apache-2.0
// Continues a checkpoint with another program: another rate, optimizer,
// precision, batch, target or number of ranks, or another version of dlc.
#pragma once

#include "runtime/exec/Executor.h"
#include "runtime/plan/Model.h"

#include <string>
#include <vector>

namespace dlc {

// What a program has taken from a checkpoint's state.
struct Takeover {
  // Names of the optimizers. A different optimizer starts with new moments and
  // counts steps, also of its schedule, from 0.
  std::string before, now;
  bool startsOptimizer() const { return before != now; }

  size_t taken = 0; // number of states, matched by name
  // States that are missing in the checkpoint, or have another shape or type
  // there, and keep their compiled values; states converted from another float
  // type; tensors that are not states of the program.
  std::vector<std::string> missing, unlike, rounded, unused;
};

// Loads a checkpoint's state into an executor whose state is as compiled.
// Averages that the checkpoint lacks start with the values that they average.
// Counters of schedules and of micro-batch windows are the program's own.
// Called on rank 0, like loading a state. Code::Incompatible if no trained
// parameter matches.
Result<Takeover> takeOver(Executor &executor, const Model &from);

} // namespace dlc
