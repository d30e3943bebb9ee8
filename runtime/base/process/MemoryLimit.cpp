// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/process/MemoryLimit.h"
#include "runtime/base/Bytes.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace dlc {
namespace {

constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();
constexpr uint64_t kSmall = 64 << 20;

std::optional<uint64_t> numberIn(std::string_view text) {
  const size_t digits = text.find_first_of("0123456789");
  uint64_t value = 0;
  if (digits == text.npos ||
      std::from_chars(text.data() + digits, text.data() + text.size(), value)
              .ec != std::errc())
    return std::nullopt;
  return value;
}

// The number after `key` in a file of lines "key number".
std::optional<uint64_t> field(const std::string &path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key) && line.size() > key.size() &&
        (line[key.size()] == ':' || line[key.size()] == ' '))
      return numberIn(std::string_view(line).substr(key.size()));
  return std::nullopt;
}

std::optional<uint64_t> numberAt(const std::string &path) {
  std::ifstream file(path);
  std::string line;
  return std::getline(file, line) ? numberIn(line) : std::nullopt;
}

uint64_t ofMachine() {
  constexpr char kPath[] = "/proc/meminfo";
  const auto available = field(kPath, "MemAvailable");
  return available ? (*available + field(kPath, "SwapFree").value_or(0)) * 1024
                   : kUnlimited;
}

// File caches that a group would release are counted as free.
uint64_t ofGroup(const std::string &folder, const char *limitName,
                 const char *usageName, const char *cacheName) {
  const auto limit = numberAt(folder + limitName);
  const auto usage = numberAt(folder + usageName);
  if (!limit || !usage)
    return kUnlimited;
  const uint64_t cache = field(folder + "/memory.stat", cacheName).value_or(0);
  const uint64_t used = *usage - std::min(*usage, cache);
  return *limit - std::min(*limit, used);
}

// "4:memory:/a/b" or, in version 2, "0::/a/b". Inside a container the path may
// be the host's, while its own group is at the root.
uint64_t ofGroups() {
  uint64_t least = kUnlimited;
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t second = line.find(':', line.find(':') + 1);
    if (second == line.npos)
      continue;
    const bool version2 = line.starts_with("0::");
    if (!version2 && line.find(":memory:") == line.npos)
      continue;
    const std::string root =
        version2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    for (std::string path = line.substr(second + 1);;) {
      const std::string folder = root + (path == "/" ? "" : path);
      least =
          std::min(least, version2 ? ofGroup(folder, "/memory.max",
                                             "/memory.current", "inactive_file")
                                   : ofGroup(folder, "/memory.limit_in_bytes",
                                             "/memory.usage_in_bytes",
                                             "total_inactive_file"));
      if (path.empty() || path == "/")
        break;
      path.resize(path.rfind('/') == path.npos ? 0 : path.rfind('/'));
    }
  }
  return least;
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
                       roundBytes(static_cast<double>(bytes)),
                       roundBytes(static_cast<double>(available)));
}

} // namespace dlc
