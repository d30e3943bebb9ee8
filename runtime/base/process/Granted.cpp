// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/process/Granted.h"

#include "runtime/base/Bytes.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

namespace dlc {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();
constexpr uint64_t kSmall = 64 << 20;
constexpr char kGroups[] = "/sys/fs/cgroup";

std::string membershipOfProcess() {
  std::ifstream file("/proc/self/cgroup");
  return {std::istreambuf_iterator<char>(file),
          std::istreambuf_iterator<char>()};
}

// Calls take(folder, isVersion2) for the folders of a process's groups and
// their parents. A line is "4:cpu,cpuacct:/a/b" or, in version 2, "0::/a/b".
template <class Take>
void eachGroup(const fs::path &root, std::string_view membership,
               std::string_view controller, Take take) {
  for (const std::string_view line : splitAt(membership, '\n')) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == line.npos)
      continue;
    const bool version2 = line.starts_with("0::");
    const auto names = splitAt(line.substr(first + 1, second - first - 1), ',');
    if (!version2 && !std::ranges::count(names, controller))
      continue;
    const fs::path mount = version2 ? root : root / controller;
    // Inside a container the path may be the host's, while its own group is at
    // the root.
    for (fs::path path = fs::path(line.substr(second + 1)).relative_path();;
         path = path.parent_path()) {
      take(mount / path, version2);
      if (path.empty())
        break;
    }
  }
}

std::optional<uint64_t> numberIn(std::string_view text) {
  const size_t digits = text.find_first_of("0123456789");
  uint64_t value = 0;
  if (digits == text.npos ||
      std::from_chars(text.data() + digits, text.data() + text.size(), value)
              .ec != std::errc())
    return std::nullopt;
  return value;
}

// The number after `key` in a file of lines "key number"; "": in its first
// line.
std::optional<uint64_t> numberAt(const fs::path &path,
                                 std::string_view key = "") {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (key.empty() || (line.starts_with(key) && line.size() > key.size() &&
                        (line[key.size()] == ':' || line[key.size()] == ' ')))
      return numberIn(std::string_view(line).substr(key.size()));
  return std::nullopt;
}

uint64_t ofMachine() {
  constexpr char kPath[] = "/proc/meminfo";
  const auto available = numberAt(kPath, "MemAvailable");
  return available
             ? (*available + numberAt(kPath, "SwapFree").value_or(0)) * 1024
             : kUnlimited;
}

// File caches that a group would release are counted as free.
uint64_t ofGroup(const fs::path &folder, const char *limitName,
                 const char *usageName, const char *cacheName) {
  const auto limit = numberAt(folder / limitName);
  const auto usage = numberAt(folder / usageName);
  if (!limit || !usage)
    return kUnlimited;
  const uint64_t cache =
      numberAt(folder / "memory.stat", cacheName).value_or(0);
  const uint64_t used = *usage - std::min(*usage, cache);
  return *limit - std::min(*limit, used);
}

uint64_t ofGroups() {
  uint64_t least = kUnlimited;
  eachGroup(kGroups, membershipOfProcess(), "memory",
            [&](const fs::path &folder, bool version2) {
              least = std::min(
                  least, version2 ? ofGroup(folder, "memory.max",
                                            "memory.current", "inactive_file")
                                  : ofGroup(folder, "memory.limit_in_bytes",
                                            "memory.usage_in_bytes",
                                            "total_inactive_file"));
            });
  return least;
}

// "max 100000" or "50000 100000" of version 2.
std::optional<double> quotaAt(const fs::path &folder, bool version2) {
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

} // namespace

uint64_t availableMemory() { return std::min(ofMachine(), ofGroups()); }

Status checkMemory(uint64_t bytes, std::string_view what) {
  if (bytes <= kSmall)
    return {};
  const uint64_t available = availableMemory();
  if (bytes <= available)
    return {};
  return limitExceeded("{} needs {} of memory, {} are available", what,
                       roundBytes(double(bytes)),
                       roundBytes(double(available)));
}

std::optional<double> coresOfQuota(const std::string &root,
                                   const std::string &membership) {
  std::optional<double> least;
  eachGroup(root, membership, "cpu",
            [&](const fs::path &folder, bool version2) {
              if (const auto quota = quotaAt(folder, version2))
                least = std::min(least.value_or(*quota), *quota);
            });
  return least;
}

std::optional<double> quotaOfProcess() {
  return coresOfQuota(kGroups, membershipOfProcess());
}

} // namespace dlc
