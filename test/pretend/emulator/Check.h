// SPDX-License-Identifier: Apache-2.0
// Kernels as GpuCode runs them against the CPU backend's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dlc::test {

struct CheckReport {
  int64_t kernels = 0, runs = 0;   // runs: a kernel on some inputs in one order
  std::vector<std::string> errors; // each names its kernel
  std::string summary;             // of GpuCode
};

/// Compiles all exec.kernels of a module for this machine and for an SM, and
/// runs each on random inputs: positive ones and ones of both signs, with
/// threads in three orders. All orders must give the same bytes, close to those
/// of the CPU. Kernels of more than `mostElements` elements are left out,
/// and those of attention.
CheckReport checkKernels(const std::string &moduleText,
                         const std::string &sm = "90",
                         int64_t mostElements = INT64_MAX);

} // namespace dlc::test
