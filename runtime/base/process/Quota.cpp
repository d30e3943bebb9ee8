// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/process/Quota.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace fs = std::filesystem;

namespace dlc {

// "max 100000" or "50000 100000" of version 2.
static std::optional<double> quotaAt(const fs::path &folder, bool version2) {
  double quota = -1, period = 0;
  if (version2) {
    std::ifstream(folder / "cpu.max") >> quota >> period;
  } else {
    std::ifstream(folder / "cpu.cfs_quota_us") >> quota;
    std::ifstream(folder / "cpu.cfs_period_us") >> period;
  }
  if (quota <= 0 || period <= 0)
    return std::nullopt;
  return quota / period;
}

std::optional<double> coresOfQuota(const std::string &root,
                                   const std::string &membership) {
  std::optional<double> least;
  size_t begin = 0;
  while (begin < membership.size()) {
    const size_t end =
        std::min(membership.find('\n', begin), membership.size());
    const std::string line = membership.substr(begin, end - begin);
    begin = end + 1;
    const size_t second = line.find(':', line.find(':') + 1);
    const bool version2 = line.starts_with("0::");
    if (second == line.npos ||
        (!version2 && line.find("cpu,") == line.npos &&
         line.find(":cpu:") == line.npos && line.find(",cpu:") == line.npos))
      continue;
    const fs::path mount = version2 ? fs::path(root) : fs::path(root) / "cpu";
    // A container may see its own group at the root, whatever its path is.
    for (fs::path path = fs::path(line.substr(second + 1)).relative_path();;
         path = path.parent_path()) {
      if (const auto quota = quotaAt(mount / path, version2))
        least = std::min(least.value_or(*quota), *quota);
      if (path.empty())
        break;
    }
  }
  return least;
}

std::optional<double> quotaOfProcess() {
  std::ifstream file("/proc/self/cgroup");
  return coresOfQuota("/sys/fs/cgroup", {std::istreambuf_iterator<char>(file),
                                         std::istreambuf_iterator<char>()});
}

} // namespace dlc
