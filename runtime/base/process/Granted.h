// SPDX-License-Identifier: Apache-2.0
// What the machine and this process's control groups grant: memory and cores.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <optional>

namespace dlc {

// Available bytes: of the machine with its swap, and of this process's control
// group. An unknown value is no limit.
uint64_t availableMemory();

// Code::Limit if `bytes` more are not available: "what needs 3 TiB of memory,
// ...". Small sizes are not checked. Linux overcommits memory and kills a
// process that uses too much: check before large allocations.
Status checkMemory(uint64_t bytes, std::string_view what);

// The smallest quota of the process's group and its parents, such as 1.5 cores;
// nullopt without a quota. `root`: the mount point of groups, "/sys/fs/cgroup";
// `membership`: the content of /proc/self/cgroup. Supports both versions of
// control groups.
std::optional<double> coresOfQuota(const std::string &root,
                                   const std::string &membership);

// The quota of this process.
std::optional<double> quotaOfProcess();

} // namespace dlc
