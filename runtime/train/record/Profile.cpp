// SPDX-License-Identifier: Apache-2.0
// Reports of dlc train --profile.
#include "runtime/train/record/Recorder.h"

#include "runtime/base/Json.h"
#include "runtime/base/files/CacheFolder.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/process/Log.h"
#include "runtime/base/process/Parallel.h"
#include "runtime/device/CpuFigures.h"

#include <algorithm>
#include <map>

namespace dlc {
namespace {

constexpr size_t kLabelWidth = 60;
constexpr size_t kProfileRows = 15;

double perCall(const CommandProfile &c) {
  return c.calls ? c.seconds / double(c.calls) : 0;
}

using Machine = std::optional<CpuFigures>;

double rooflineOf(const Machine &machine, const CommandProfile &c) {
  return secondsAtMost(*machine, c.flops, c.bytes, c.inBf16);
}

std::string shareText(double part, double whole) {
  return whole > 0 ? fmt::format("{:.0f}", 100 * part / whole) : "-";
}

// Billions per second; "-" if the plan has no count.
std::string rate(uint64_t count, double seconds) {
  return count && seconds > 0
             ? fmt::format("{:.1f}", double(count) / seconds / 1e9)
             : "-";
}

std::string shortened(const std::string &label) {
  if (label.size() <= kLabelWidth)
    return label;
  return fmt::format("{}...", label.substr(0, kLabelWidth - 3));
}

// Commands of `program`, the slowest first: milliseconds per step and their
// share, rates, the command and its ONNX nodes; commands after the first are
// summed up in one line. With `machine` also the roofline's share of the time,
// per command and step; above 100 % data was in caches.
std::string profileTable(const std::vector<CommandProfile> &commands,
                         std::string_view program, const Machine &machine) {
  std::vector<const CommandProfile *> sorted;
  double total = 0, least = 0;
  for (const CommandProfile &c : commands)
    if (c.program == program && c.calls > 0) {
      sorted.push_back(&c);
      total += perCall(c);
      least += machine ? rooflineOf(machine, c) : 0;
    }
  std::ranges::stable_sort(sorted, std::ranges::greater(),
                           [](auto *a) { return perCall(*a); });
  // Only present if there is something to compare with.
  const auto column = [&](const std::string &share) {
    return machine ? fmt::format(" {:>7}", share) : "";
  };
  std::string text =
      fmt::format("{:>9} {:>6} {:>8} {:>7}{}  {:<22} nodes\n", "ms", "%",
                  "GFLOP/s", "GB/s", column("roof %"), "command");
  double rest = total;
  for (size_t i = 0; i < std::min(kProfileRows, sorted.size()); ++i) {
    const CommandProfile &c = *sorted[i];
    const double seconds = perCall(c);
    rest -= seconds;
    text += fmt::format(
        "{:9.3f} {:6.1f} {:>8} {:>7}{}  {:<22} {}\n", 1e3 * seconds,
        100 * seconds / total, rate(c.flops, seconds), rate(c.bytes, seconds),
        column(machine ? shareText(rooflineOf(machine, c), seconds) : ""),
        c.name, shortened(c.label));
  }
  if (sorted.size() > kProfileRows)
    text += fmt::format("{:9.3f} {:6.1f} {:>8} {:>7}{}  {} more\n", 1e3 * rest,
                        100 * rest / total, "", "", column(""),
                        sorted.size() - kProfileRows);
  text += fmt::format("{:9.3f}  all commands of a {}", 1e3 * total, program);
  if (machine)
    text += fmt::format(", {} % at the machine's roofline of {:.3f} ms",
                        shareText(least, total), 1e3 * least);
  return text;
}

// The same as a JSON array of objects, written atomically.
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

// Average start and end times of commands in a run of each program, for
// chrome://tracing and Perfetto; written atomically.
Status writeTrace(const std::vector<CommandProfile> &commands,
                  const std::string &path) {
  Json events = Json::array();
  std::map<std::string, int> programs;
  for (const CommandProfile &c : commands) {
    if (c.calls == 0)
      continue;
    const auto [at, isNew] =
        programs.try_emplace(c.program, int(programs.size()));
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
         {"ts", 1e6 * c.begin / double(c.calls)},
         {"dur", 1e6 * perCall(c)},
         {"args",
          {{"nodes", c.label}, {"flops", c.flops}, {"bytes", c.bytes}}}});
  }
  const Json trace = {{"traceEvents", events}, {"displayTimeUnit", "ms"}};
  return writeFileAtomically(path, dumpJson(trace) + "\n");
}

class Profile : public Recorder {
public:
  explicit Profile(const Recorded &of) : setup_(of.setup), run_(of.run) {}

  void onStep(const StepEvent &) override { hasStepped_ = true; }

  // Failure to write a file is only a warning, as the state is saved. CPU
  // commands are compared with the results of dlc doctor bench machine, if
  // cached.
  void onEnd(const EndEvent &) override {
    if (!hasStepped_)
      return;
    const plan::Plan &plan = setup_.session->plan();
    const auto *step = findProgram(plan, "train_step", setup_.data.sizes[0]);
    const auto commands = setup_.session->executor().profile();
    const bool isCpu = plan.target() == "cpu";
    const int threads = setup_.options.threads;
    Machine machine;
    if (isCpu)
      machine = findCpuFigures(cacheFolder(setup_.options.tune.cacheFolder),
                               threads ? threads : coresOfProcess());
    for (const Status &written :
         {writeProfile(commands, run_ + "/profile.json", machine),
          writeTrace(commands, run_ + "/trace.json")})
      warnOf(written);
    info("{}{}", profileTable(commands, step->name(), machine),
         isCpu && !machine ? "\n(shares of this machine's roofline: dlc doctor "
                             "bench machine, once)"
                           : "");
  }

private:
  const RunSetup &setup_;
  const std::string &run_;
  bool hasStepped_ = false;
};

} // namespace

MadeRecorder openProfile(const Recorded &of) {
  if (!of.setup.options.profile)
    return nullptr;
  return std::make_unique<Profile>(of);
}

} // namespace dlc
