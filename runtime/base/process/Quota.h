// SPDX-License-Identifier: Apache-2.0
// How many cores the control groups of a process grant it, as a share of time.
#pragma once

#include <optional>
#include <string>

namespace dlc {

// The least that a group of the process, or one around it, grants: 1.5 for
// three halves of a core's time; nothing without a quota. `root`: where groups
// are mounted, "/sys/fs/cgroup"; `membership`: what /proc/self/cgroup says. Of
// both versions of control groups.
std::optional<double> coresOfQuota(const std::string &root,
                                   const std::string &membership);

// That of this process.
std::optional<double> quotaOfProcess();

} // namespace dlc
