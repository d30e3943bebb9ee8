// SPDX-License-Identifier: Apache-2.0
// This CPU's peak rates, measured once, and the time of a command at these
// rates: its roofline bound (Williams, Waterman, Patterson, 2009).
#pragma once

#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

#include <optional>
#include <string>

namespace dlc {

struct CpuFigures {
  // FLOP/s of large matrix products in f32 and bf16; 0: not supported.
  double single = 0, half = 0;
  // Bytes/s of reads and writes in memory, beyond caches.
  double bandwidth = 0;
  int threads = 0;
  std::string date; // "2026-11-21T15:30:00Z"
};

// Measures large oneDNN products and sums of two arrays, the best of several
// runs, in about two seconds with 0.4 GB. `threads` 0: as many as the process
// may use. Code::Limit without enough memory or threads.
Result<CpuFigures> measureCpu(int threads);

// The figures stored in `folder` (cacheFolder(); empty: none) for the CPU
// model, number of cores and number of threads. Safe for concurrent processes.
std::optional<CpuFigures> findCpuFigures(const std::string &folder,
                                         int threads);
Status keepCpuFigures(const std::string &folder, const CpuFigures &figures);

// Whether a library computes the command in bf16; kernels use f32.
bool computesInBf16(const plan::Program &program, const plan::Command &command);
// The larger of compute time and memory time; data in caches may take less.
double secondsAtMost(const CpuFigures &figures, uint64_t flops, uint64_t bytes,
                     bool inBf16);

} // namespace dlc
