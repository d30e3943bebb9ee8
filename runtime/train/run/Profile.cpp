// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/run/Profile.h"

#include "runtime/base/Json.h"
#include "runtime/base/files/CacheFolder.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/process/Log.h"
#include "runtime/base/process/Parallel.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

namespace dlc {
namespace {

constexpr size_t kLabelWidth = 60;
constexpr size_t kProfileRows = 15;

double perCall(const CommandProfile &c) {
  return c.calls ? c.seconds / static_cast<double>(c.calls) : 0;
}

using Machine = std::optional<CpuFigures>;

double rooflineOf(const Machine &machine, const CommandProfile &c) {
  return secondsAtMost(*machine, c.flops, c.bytes, c.inBf16);
}

std::string shareText(double part, double whole) {
  return whole > 0 ? fmt::format("{:.0f}", 100 * part / whole) : "-";
}

// Billions a second; "-" where the plan counts nothing.
std::string rate(uint64_t count, double seconds) {
  return count && seconds > 0
             ? fmt::format("{:.1f}", static_cast<double>(count) / seconds / 1e9)
             : "-";
}

std::string shortened(const std::string &label) {
  if (label.size() <= kLabelWidth)
    return label;
  return fmt::format("{}...", label.substr(0, kLabelWidth - 3));
}

} // namespace

std::string profileTable(const std::vector<CommandProfile> &commands,
                         std::string_view program, size_t rows,
                         const Machine &machine) {
  std::vector<const CommandProfile *> sorted;
  double total = 0, least = 0;
  for (const CommandProfile &c : commands)
    if (c.program == program && c.calls > 0) {
      sorted.push_back(&c);
      total += perCall(c);
      least += machine ? rooflineOf(machine, c) : 0;
    }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](auto *a, auto *b) { return perCall(*a) > perCall(*b); });
  // The column is there if there is something to compare with.
  const auto column = [&](const std::string &share) {
    return machine ? fmt::format(" {:>7}", share) : "";
  };
  std::string text =
      fmt::format("{:>9} {:>6} {:>8} {:>7}{}  {:<22} nodes\n", "ms", "%",
                  "GFLOP/s", "GB/s", column("roof %"), "command");
  double rest = total;
  for (size_t i = 0; i < std::min(rows, sorted.size()); ++i) {
    const CommandProfile &c = *sorted[i];
    const double seconds = perCall(c);
    rest -= seconds;
    text += fmt::format(
        "{:9.3f} {:6.1f} {:>8} {:>7}{}  {:<22} {}\n", 1e3 * seconds,
        100 * seconds / total, rate(c.flops, seconds), rate(c.bytes, seconds),
        column(machine ? shareText(rooflineOf(machine, c), seconds) : ""),
        c.name, shortened(c.label));
  }
  if (sorted.size() > rows)
    text += fmt::format("{:9.3f} {:6.1f} {:>8} {:>7}{}  {} more\n", 1e3 * rest,
                        100 * rest / total, "", "", column(""),
                        sorted.size() - rows);
  text += fmt::format("{:9.3f}  all commands of a {}", 1e3 * total, program);
  if (machine)
    text += fmt::format(", {} % at the machine's roofline of {:.3f} ms",
                        shareText(least, total), 1e3 * least);
  return text;
}

Status writeProfile(const std::vector<CommandProfile> &commands,
                    const std::string &path, const Machine &machine) {
  Json list = Json::array();
  for (const CommandProfile &c : commands)
    if (c.calls > 0) {
      list.push_back({{"program", c.program},
                      {"command", c.name},
                      {"kind", c.kind},
                      {"nodes", c.label},
                      {"calls", c.calls},
                      {"seconds", c.seconds},
                      {"least", c.least},
                      {"flops", c.flops},
                      {"bytes", c.bytes},
                      {"begin", c.begin},
                      {"bucket", c.bucket < 0 ? Json() : Json(c.bucket)}});
      if (machine)
        list.back()["roofline"] = rooflineOf(machine, c);
    }
  return writeFileAtomically(path, dumpJson(list, 1) + "\n");
}

Status writeTrace(const std::vector<CommandProfile> &commands,
                  const std::string &path) {
  Json events = Json::array();
  std::map<std::string, int> programs;
  for (const CommandProfile &c : commands) {
    if (c.calls == 0)
      continue;
    const auto [at, isNew] =
        programs.try_emplace(c.program, static_cast<int>(programs.size()));
    if (isNew)
      events.push_back({{"ph", "M"},
                        {"name", "process_name"},
                        {"pid", at->second},
                        {"tid", 0},
                        {"args", {{"name", c.program}}}});
    events.push_back(
        {{"ph", "X"},
         {"name", c.name},
         {"cat", c.kind},
         {"pid", at->second},
         {"tid", 0},
         {"ts", 1e6 * c.begin / static_cast<double>(c.calls)},
         {"dur", 1e6 * perCall(c)},
         {"args",
          {{"nodes", c.label}, {"flops", c.flops}, {"bytes", c.bytes}}}});
  }
  const Json trace = {{"traceEvents", events}, {"displayTimeUnit", "ms"}};
  return writeFileAtomically(path, dumpJson(trace) + "\n");
}

std::string keepProfile(const std::vector<CommandProfile> &commands,
                        const plan::Plan &plan, std::string_view program,
                        int threads, const std::string &cache,
                        const std::string &run) {
  const bool isCpu = plan.target() == "cpu";
  Machine machine;
  if (isCpu)
    machine = findCpuFigures(cacheFolder(cache),
                             threads ? threads : coresOfProcess());
  for (const Status &written :
       {writeProfile(commands, run + "/profile.json", machine),
        writeTrace(commands, run + "/trace.json")})
    if (!written.ok())
      warning("{}", written.message());
  std::string text = profileTable(commands, program, kProfileRows, machine);
  if (isCpu && !machine)
    text +=
        "\n(shares of this machine's roofline: dlc doctor bench machine, once)";
  return text;
}

} // namespace dlc
