// SPDX-License-Identifier: Apache-2.0
// A launch: its blocks one after another, each with fibers for threads. What
// threads read of themselves, barriers, shuffles and votes are functions of
// this library, which are named after the intrinsics: gpu_llvm_nvvm_...
#pragma once

#include "Fibers.h"
#include <span>

namespace dlc::test {

/// Threads of a block, at most.
inline constexpr int64_t kMostThreads = 1024;

/// Memory that the threads of a block share.
struct SharedArray {
  void *data;
  uint64_t bytes;
};

/// Runs `thread` as every thread of `grid` blocks of `block`, with shared
/// memory full of NaNs at the start of each. One launch at a time. Returns what
/// went wrong; empty: nothing.
std::string runGrid(const std::string &kernel, int64_t grid, int64_t block,
                    std::span<const SharedArray> shared, Order order,
                    unsigned seed, const std::function<void()> &thread);

/// The kernel that runs; empty: none.
const char *runningKernel();
/// The block that runs, and how many the launch has.
uint32_t runningBlock();
uint32_t blocksOfLaunch();

} // namespace dlc::test
