// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc/doctor/Machine.h"

#include "runtime/base/Bytes.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/options/Environment.h"
#include "runtime/base/process/Granted.h"
#include "runtime/base/process/Parallel.h"
#include "runtime/device/TuneCache.h"
#include "tools/dlc/Commands.h"

#include <fmt/ranges.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace fs = std::filesystem;

namespace dlc::tool {
namespace {

std::string lineOf(const fs::path &path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The value after "key :" in a file with such lines.
std::string valueOf(const char *path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key)) {
      const size_t at = line.find_first_not_of(" \t:", key.size());
      return at == line.npos ? "" : line.substr(at);
    }
  return "";
}

std::string sizeText(uint64_t bytes) { return roundBytes(double(bytes)); }

// The highest x86-64 level that generated kernels and dlc's loops use, and
// instructions that accelerate --amp.
std::string instructions() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  std::string text = __builtin_cpu_supports("x86-64-v4")   ? "x86-64-v4"
                     : __builtin_cpu_supports("x86-64-v3") ? "x86-64-v3"
                     : __builtin_cpu_supports("x86-64-v2") ? "x86-64-v2"
                                                           : "x86-64";
  if (__builtin_cpu_supports("avx512bf16"))
    text += ", avx512_bf16";
  if (__builtin_cpu_supports("amx-bf16"))
    text += ", amx_bf16";
  return text;
#else
  return "not x86-64";
#endif
}

// "L1d 48K, L2 2048K, L3 107520K" of the first core.
std::string caches() {
  std::string text;
  const fs::path folder = "/sys/devices/system/cpu/cpu0/cache";
  for (int i = 0; fs::exists(folder / fmt::format("index{}", i)); ++i) {
    const fs::path cache = folder / fmt::format("index{}", i);
    const std::string type = lineOf(cache / "type");
    if (type != "Instruction")
      text += fmt::format("{}L{}{} {}", text.empty() ? "" : ", ",
                          lineOf(cache / "level"), type == "Data" ? "d" : "",
                          lineOf(cache / "size"));
  }
  return text;
}

Finding cores() {
  const int own = coresOfProcess();
  const long all = ::sysconf(_SC_NPROCESSORS_ONLN);
  Finding found = {"cores", fmt::format("{} of {}", own, all)};
  if (const auto quota = quotaOfProcess())
    found.value += fmt::format(", the control group grants {:.3g}", *quota);
  return found;
}

// Free space, and whether files can be created.
Finding space(std::string what, const std::string &path, uint64_t least,
              const std::string &way) {
  struct statvfs system = {};
  Finding found = {std::move(what), ""};
  if (::statvfs(path.c_str(), &system) != 0 ||
      ::access(path.c_str(), W_OK) != 0) {
    found.problem = systemError("write into", path).message() + way;
    found.warns = true;
    return found;
  }
  const uint64_t free = uint64_t(system.f_bavail) * system.f_frsize;
  found.value = fmt::format("{} free in {}", sizeText(free), path);
  found.warns = free < least;
  if (found.warns)
    found.problem = fmt::format("less than {}{}", sizeText(least), way);
  return found;
}

Finding openFiles() {
  constexpr rlim_t kFew = 256; // a rank needs dozens, and one per mapped file
  rlimit limit = {};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  Finding found = {"open files", limit.rlim_cur == RLIM_INFINITY
                                     ? "no limit"
                                     : fmt::format("{}", limit.rlim_cur)};
  found.warns = limit.rlim_cur < kFew;
  if (found.warns)
    found.problem = "runs on many files or ranks fail: ulimit -n 1024";
  return found;
}

Finding cacheFinding() {
  const std::string folder = cacheFolder("");
  if (folder.empty())
    return {"cache", "",
            "none of DLC_CACHE_DIR, XDG_CACHE_HOME and HOME is set: "
            "measurements on GPUs are not stored",
            true};
  auto cache = TuneCache::open(folder);
  if (!cache)
    return {"cache", folder, cache.status().message(), true};
  const auto items = cache->list();
  if (!items)
    return {"cache", folder, items.status().message(), true};
  uint64_t bytes = 0;
  for (const TuneCache::Item &item : *items)
    bytes += item.bytes;
  Finding found = {"cache", fmt::format("{}: {} entries, {}", folder,
                                        items->size(), sizeText(bytes))};
  // A missing folder would be created in its first existing parent.
  fs::path there = folder;
  std::error_code error;
  while (!fs::exists(there, error) && there.has_relative_path())
    there = there.parent_path();
  found.warns = ::access(there.c_str(), W_OK) != 0;
  if (found.warns)
    found.problem = systemError("write into", there.string()).message() +
                    ": measurements on GPUs are not stored; choose another "
                    "folder by DLC_CACHE_DIR";
  return found;
}

Finding compilerFinding() {
  const std::string path = compilerPath();
  if (::access(path.c_str(), X_OK) == 0)
    return {"compiler", path};
  return {"compiler", "",
          fmt::format("no {}: this machine can train and use models that "
                      "another one has compiled",
                      path)};
}

} // namespace

Findings findCpu() {
  const std::string model = valueOf("/proc/cpuinfo", "model name");
  return {{"model", model.empty() ? "unknown" : model},
          {"instructions", instructions()},
          {"caches", caches()},
          cores()};
}

Findings findMemory() {
  constexpr uint64_t kLittle = uint64_t(512) << 20;
  const uint64_t available = availableMemory();
  const uint64_t kibibytes =
      std::strtoull(valueOf("/proc/meminfo", "MemTotal").c_str(), nullptr, 10);
  Finding memory = {"memory",
                    fmt::format("{} available, {} in all", sizeText(available),
                                sizeText(kibibytes * 1024))};
  memory.warns = available < kLittle;
  if (memory.warns)
    memory.problem = "little is left for training: end other programs, or "
                     "raise the limit of the control group; dlc check says "
                     "what a model needs";
  return {memory, openFiles(),
          space("temporary", environment::temporaryFolder(), uint64_t(64) << 20,
                ": set TMPDIR to a folder with space"),
          space("here", ".", uint64_t(256) << 20,
                ": runs and artifacts go elsewhere with --run and -o")};
}

Findings findFiles() { return {cacheFinding(), compilerFinding()}; }

Findings findUse(const Result<Launch> &launch) {
  if (!launch)
    return {{"launcher", "", launch.status().message(), true}};
  Findings found;
  found.push_back({"launcher", launch->isRank()
                                   ? launch->launcher
                                   : "none: dlc train starts the ranks"});
  for (const LaunchFact &fact : launch->facts)
    found.push_back(
        {fact.what, fmt::format("{}  ({})", fact.value, fact.from)});
  for (const std::string &reason : launch->ignored)
    found.push_back({"not used", reason});
  found.push_back(
      {"threads", fmt::format("{} a rank", threadsOfRank(*launch))});
  return found;
}

} // namespace dlc::tool
