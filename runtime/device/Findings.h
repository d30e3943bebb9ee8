// SPDX-License-Identifier: Apache-2.0
// The devices and libraries of a machine, as reported to users; each device
// reports its own.
#pragma once

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace dlc {

struct Finding {
  std::string what{};    // "driver", "GPU 0"
  std::string value{};   // "for CUDA 13.0 (libcuda.so.1)"; empty: missing
  std::string problem{}; // why it is missing or limited,
                         // and how to fix it; empty: none
  bool warns = false;    // whether `problem` is worth a warning
};
using Findings = std::vector<Finding>;

/// Devices for which a program can be compiled and run here.
struct SeenDevices {
  std::string text{}; // "NVIDIA H100, CUDA 13.0"
  // The compiler's names of their architectures ("90"), in the same order.
  std::vector<std::string> architectures{};
};

// The CPU device's library; the CPU itself is what the tool looks at.
Findings findCpuLibraries();

// The driver, its GPUs and a GPU's libraries, opened as a run opens them,
// without a context. A missing library is a warning where an NVIDIA GPU exists.
Findings findGpus();
// The driver's GPUs, at least one; Incompatible, with the reason, where there
// is no driver, it is too old or it shows none. Makes no context.
Result<SeenDevices> seeGpus();

} // namespace dlc
