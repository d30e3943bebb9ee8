// SPDX-License-Identifier: Apache-2.0
// What this machine's CPU does at most, as it was measured once, and what a
// command would take at that: its roofline (Williams, Waterman, Patterson,
// 2009).
#pragma once

#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

#include <optional>
#include <string>

namespace dlc {

struct CpuFigures {
  // FLOPs a second of large products in f32 and bf16; 0: the CPU has none.
  double single = 0, half = 0;
  // Bytes a second that are read or written, beyond caches.
  double bandwidth = 0;
  int threads = 0;
  std::string date; // "2026-11-21T15:30:00Z"
};

// By large products of oneDNN and sums of two arrays, the best of several, in
// about two seconds and 0.4 GB. `threads` 0: as many as the process may run on.
// Code::Limit if memory or threads are not there.
Result<CpuFigures> measureCpu(int threads);

// Kept in `folder` (cacheFolder(); empty: nowhere) for this model of CPU, its
// number of cores and of threads. Safe between processes.
std::optional<CpuFigures> findCpuFigures(const std::string &folder,
                                         int threads);
Status keepCpuFigures(const std::string &folder, const CpuFigures &figures);

// Whether a library computes it in bf16; generated kernels compute in f32.
bool computesInBf16(const plan::Program &program, const plan::Command &command);
// The larger of both; what lay in a cache may take less.
double secondsAtMost(const CpuFigures &figures, uint64_t flops, uint64_t bytes,
                     bool inBf16);

} // namespace dlc
