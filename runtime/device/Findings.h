// SPDX-License-Identifier: Apache-2.0
// What a machine has that devices could use, as people are told of it: each
// device finds its own.
#pragma once

#include <string>
#include <vector>

namespace dlc {

struct Finding {
  std::string what{};  // "driver", "GPU 0"
  std::string value{}; // "for CUDA 13.0 (libcuda.so.1)"; empty: it is not there
  std::string problem{}; // why it is not there or serves less than it could,
                         // with the way out; empty: none
  bool warns = false;    // who has this machine would want it mended
};
using Findings = std::vector<Finding>;

// The CPU device's library; the CPU itself is what the tool looks at.
Findings findCpuLibraries();

// The driver, its GPUs and the libraries of a GPU, opened as a run opens them.
// Makes no context. What is not there warns where an NVIDIA GPU is.
Findings findGpus();

} // namespace dlc
