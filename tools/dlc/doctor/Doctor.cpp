// SPDX-License-Identifier: Apache-2.0
// dlc doctor: shows the machine's hardware, its use by dlc, and remedies. The
// checks change nothing.
#include "runtime/base/Bytes.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/options/Environment.h"
#include "runtime/base/process/Granted.h"
#include "runtime/base/process/Parallel.h"
#include "runtime/collective/Socket.h"
#include "runtime/collective/launch/Launch.h"
#include "runtime/device/Findings.h"
#include "runtime/device/TuneCache.h"
#include "runtime/exec/Devices.h"
#include "tools/dlc/Commands.h"
#include "tools/dlc/OptionFlags.h"
#include "tools/dlc/Print.h"
#include <algorithm>
#include <filesystem>
#include <fmt/ranges.h>
#include <fstream>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

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

std::string digitsOf(const sockaddr *address) {
  char text[NI_MAXHOST] = "";
  const socklen_t size = address->sa_family == AF_INET ? sizeof(sockaddr_in)
                                                       : sizeof(sockaddr_in6);
  return ::getnameinfo(address, size, text, sizeof text, nullptr, 0,
                       NI_NUMERICHOST) == 0
             ? text
             : "";
}

Findings interfaces() {
  Findings found;
  ifaddrs *list = nullptr;
  if (::getifaddrs(&list) != 0)
    return {{"interfaces", "", "the system does not list them", true}};
  for (const ifaddrs *one = list; one; one = one->ifa_next) {
    const bool up = (one->ifa_flags & IFF_UP) != 0;
    const int family = one->ifa_addr ? one->ifa_addr->sa_family : AF_UNSPEC;
    if (!up || (family != AF_INET && family != AF_INET6))
      continue;
    const bool local = (one->ifa_flags & IFF_LOOPBACK) != 0;
    found.push_back({one->ifa_name, digitsOf(one->ifa_addr) +
                                        (local ? "  (this host only)" : "")});
  }
  ::freeifaddrs(list);
  if (found.empty())
    found.push_back({"interfaces", "",
                     "none is up: a single rank can train, but several cannot "
                     "connect; ip link set lo up",
                     true});
  return found;
}

bool isOwnOnly(const std::string &address) {
  return isLoopback(address) || address.starts_with("127.");
}

// Whether other hosts could use this one as MASTER_ADDR.
Finding hostName() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  addrinfo hints = {}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  const int failed = ::getaddrinfo(name, nullptr, &hints, &list);
  if (failed)
    return {"host", name,
            fmt::format("the host's name has no address ({}): for ranks on "
                        "several hosts set MASTER_ADDR to an IP address",
                        ::gai_strerror(failed))};
  std::string addresses;
  bool reachable = false;
  for (const addrinfo *one = list; one; one = one->ai_next) {
    const std::string address = digitsOf(one->ai_addr);
    reachable |= !isOwnOnly(address);
    addresses += (addresses.empty() ? "" : ", ") + address;
  }
  ::freeaddrinfo(list);
  Finding found = {"host", fmt::format("{}: {}", name, addresses)};
  if (!reachable)
    found.problem = "the host's name has only local addresses: for ranks on "
                    "several hosts set MASTER_ADDR to an IP address";
  return found;
}

// CPU: model, instruction sets that kernels use, caches, and the cores of the
// machine, of this process (affinity) and of its control group (quota).
Findings findCpu() {
  const std::string model = valueOf("/proc/cpuinfo", "model name");
  return {{"model", model.empty() ? "unknown" : model},
          {"instructions", instructions()},
          {"caches", caches()},
          cores()};
}

// Total and usable memory, shared memory, limit of open files, and space for
// temporary files.
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

// Cache folder: permissions, size; and the compiler next to this program.
Findings findFiles() { return {cacheFinding(), compilerFinding()}; }

// This process's role for its launcher, and the device that it would use.
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

// Active interfaces with their addresses, the host name, and whether other
// hosts could reach it by that name.
Findings findNetwork() {
  Findings found = interfaces();
  found.insert(found.begin(), hostName());
  return found;
}

struct DoctorArguments : FlagArguments {
  DoctorArguments() : FlagArguments("doctor") {
    table.toggle("doctor.json", json, "one JSON object on stdout");
    table.group("Ranks");
    launch.addTo(table, "doctor");
  }

  bool json = false;
  LaunchFlags launch;
};

struct DoctorSection {
  std::string name;
  Findings findings;
};

std::vector<DoctorSection> examine(const LaunchFlags &flags) {
  std::vector<DoctorSection> sections = {{"cpu", findCpu()},
                                         {"memory", findMemory()}};
  for (auto &[device, findings] : findDevices()) {
    auto same = std::ranges::find(sections, device, &DoctorSection::name);
    if (same == sections.end())
      sections.push_back({device, std::move(findings)});
    else
      same->findings.insert(same->findings.end(), findings.begin(),
                            findings.end());
  }
  sections.push_back({"files", findFiles()});
  sections.push_back({"network", findNetwork()});
  sections.push_back(
      {"use", findUse(findLaunch(flags, std::chrono::seconds(60)))});
  return sections;
}

int64_t countWarnings(const std::vector<DoctorSection> &sections) {
  int64_t count = 0;
  for (const DoctorSection &section : sections)
    count += std::ranges::count_if(
        section.findings, [](const Finding &one) { return one.warns; });
  return count;
}

void printSections(const std::vector<DoctorSection> &sections) {
  for (const DoctorSection &section : sections) {
    printOut("{}\n", section.name);
    for (const Finding &one : section.findings) {
      printOut("  {:<14} {}\n", one.what,
               one.value.empty() ? "none" : one.value);
      if (!one.problem.empty())
        printOut("  {:<14} {}{}\n", "", one.warns ? "warning: " : "",
                 one.problem);
    }
  }
  const int64_t warnings = countWarnings(sections);
  if (warnings == 0)
    printOut("nothing to fix\n");
  else
    printOut("{} to fix: see the warnings\n", warnings);
}

void printSectionsAsJson(const std::vector<DoctorSection> &sections) {
  nlohmann::ordered_json object = {{"version", dlcVersion()}};
  for (const DoctorSection &section : sections) {
    auto &list = object["sections"][section.name];
    list = Json::array();
    for (const Finding &one : section.findings)
      list.push_back(
          {{"what", one.what},
           {"value", one.value.empty() ? Json() : Json(one.value)},
           {"problem", one.problem.empty() ? Json() : Json(one.problem)},
           {"warns", one.warns}});
  }
  object["warnings"] = countWarnings(sections);
  printJson(object);
}

Result<int> runDoctor(DoctorArguments &arguments) {
  const auto sections = examine(arguments.launch);
  if (arguments.json)
    printSectionsAsJson(sections);
  else
    printSections(sections);
  return countWarnings(sections) ? int(Code::Failed) : 0;
}

} // namespace

void addDoctor(CommandLine &line) {
  CLI::App *command = line.app.add_subcommand(
      "doctor", "show what this machine has, what dlc uses, and what to fix");
  auto arguments = std::make_shared<DoctorArguments>();
  addFlagCommand(line, *command, arguments, runDoctor);
  addEnv(line, *command);
  addBench(line, *command);
  addCache(line, *command);
  command->footer(
      R"(Examines the CPU, its control group, memory, GPUs with their driver and libraries (opened
as a run opens them), the cache, the network, and the launcher's variables; changes
nothing. Exit code 0: nothing to fix; 1: there are warnings, each with its remedy.
A machine without a GPU causes no warning, nor does what only some models need.

Examples:
  dlc doctor
  dlc doctor env
  dlc doctor --json > machine.json
  srun -n 2 dlc doctor)");
}

} // namespace dlc::tool
