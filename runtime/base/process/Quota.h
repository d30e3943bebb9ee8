// SPDX-License-Identifier: Apache-2.0
// The number of cores that the control groups of a process grant, as a share of
// time.
#pragma once

#include <optional>
#include <string>

namespace dlc {

// The smallest quota of the process's group and its parents: 1.5 for 1.5 cores;
// nothing without a quota. `root`: the mount point of groups, "/sys/fs/cgroup";
// `membership`: the content of /proc/self/cgroup. Both versions of control
// groups.
std::optional<double> coresOfQuota(const std::string &root,
                                   const std::string &membership);

// The quota of this process.
std::optional<double> quotaOfProcess();

} // namespace dlc
