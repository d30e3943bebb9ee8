// SPDX-License-Identifier: Apache-2.0
// The number of cores that a process's control groups grant.
#pragma once

#include <optional>
#include <string>

namespace dlc {

// The smallest quota of the process's group and its parents, such as 1.5 cores;
// nullopt without a quota. `root`: the mount point of groups, "/sys/fs/cgroup";
// `membership`: the content of /proc/self/cgroup. Supports both versions of
// control groups.
std::optional<double> coresOfQuota(const std::string &root,
                                   const std::string &membership);

// The quota of this process.
std::optional<double> quotaOfProcess();

} // namespace dlc
