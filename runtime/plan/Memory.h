// SPDX-License-Identifier: Apache-2.0
// The memory use of a step.
#pragma once

#include "runtime/plan/plan.pb.h"

#include <string>
#include <vector>

namespace dlc {

// Largest region that a plan may request, in bytes.
constexpr uint64_t kMaxMemory = uint64_t(1) << 46;

// A tensor of the scratch region.
struct ScratchTensor {
  std::string node; // label of the command that computes it, or an input's name
  plan::TensorType type;
  uint64_t bytes = 0;       // of its range
  int64_t from = 0, to = 0; // first and last command that need it
};

struct ProgramMemory {
  uint64_t bytes = 0; // of the scratch region that the program uses
  uint64_t live = 0;  // most bytes live at once: a lower bound for any plan
  int64_t peak = 0;   // the first command at which `live` is reached
  std::vector<uint64_t> liveAt;     // bytes live at each command
  std::vector<ScratchTensor> alive; // live at the peak, the largest first
};

// Lifetimes from a verified plan's commands. A tensor is live from the command
// that writes it (inputs: from the start) to the last one that reads it
// (outputs: to the end).
ProgramMemory memoryOf(const plan::Plan &plan, const plan::Program &program);

// Bytes of all regions on the device.
uint64_t totalBytes(const plan::Plan &plan);
// Bytes of pinned memory of the host, which offloaded tensors share.
uint64_t hostBytes(const plan::Plan &plan);

// A table of state by role, gradients, scratch, pinned memory, and the `rows`
// largest tensors that are live at the peak of the program with the largest
// memory use.
std::string memoryTable(const plan::Plan &plan, size_t rows);

} // namespace dlc
