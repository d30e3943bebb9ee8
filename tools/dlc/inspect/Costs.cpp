// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc/inspect/Costs.h"

#include "runtime/base/Text.h"
#include "runtime/base/files/CacheFolder.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/files/Output.h"
#include "runtime/base/process/Parallel.h"
#include "runtime/device/CpuFigures.h"
#include "runtime/plan/Attributes.h"
#include "runtime/plan/forecast/Forecast.h"
#include "runtime/plan/forecast/HostLink.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

namespace dlc::tool {
namespace {

using Ordered = nlohmann::ordered_json;

// GPUs that costs are predicted for, and the names of their columns.
constexpr std::pair<const char *, const char *> kColumns[] = {
    {"H100", "h100_us"}, {"H200", "h200_us"}};

// Resources by kernel, for the newest SM.
Json resourcesOf(const Artifact &artifact) {
  auto text = artifact.has("kernels.json")
                  ? readFile(artifact.filePath("kernels.json"), 64 << 20)
                  : Result<std::string>(failed("none"));
  if (!text)
    return Json::object();
  auto json = parseJson(*text);
  return json && json->is_object() && !json->empty() ? json->back()
                                                     : Json::object();
}

Ordered costsOf(const plan::Program &program, const Json &resources,
                const std::optional<CpuFigures> &machine) {
  std::vector<Ordered> rows;
  std::map<std::string, size_t> byName;
  for (const plan::Command &command : program.commands()) {
    const bool generated = command.kind() == "kernel";
    std::string name = command.kind();
    if (generated)
      name = plan::stringAttribute(command, "symbol", name);
    auto [at, fresh] = byName.try_emplace(name, rows.size());
    if (fresh) {
      rows.push_back({{"name", name},
                      {"generated", generated},
                      {"calls", 0},
                      {"bytes", 0},
                      {"flops", 0},
                      {"h100_us", 0.0},
                      {"h200_us", 0.0}});
      for (const char *key : {"grid", "block"})
        if (plan::findAttribute(command, key))
          rows.back()[key] = plan::intAttribute(command, key, 0);
      if (name == "offload" || name == "fetch")
        rows.back()["beside"] = true; // other commands run meanwhile
      if (generated && resources.contains(name))
        rows.back()["registers"] = resources[name]["registers"];
    }
    Ordered &row = rows[at->second];
    row["calls"] = row["calls"].get<uint64_t>() + 1;
    row["bytes"] =
        row["bytes"].get<uint64_t>() + forecast::bytesOf(program, command);
    row["flops"] = row["flops"].get<uint64_t>() + command.flops();
    if (machine)
      row["cpu_us"] =
          row.value("cpu_us", 0.0) +
          1e6 * secondsAtMost(*machine, command.flops(), command.bytes(),
                              computesInBf16(program, command));
    for (auto [gpu, column] : kColumns)
      row[column] = row[column].get<double>() +
                    1e6 * forecast::secondsOf(*findGpu(gpu), program, command);
  }
  // Commands wait for the part of a copy that nothing hides.
  if (const auto waits = byName.find("wait_copy"); waits != byName.end())
    for (auto [gpu, column] : kColumns)
      rows[waits->second][column] =
          1e6 * forecast::hostTraffic(*findGpu(gpu), program).exposed;
  std::stable_sort(rows.begin(), rows.end(), [](auto &a, auto &b) {
    return a["h100_us"].template get<double>() >
           b["h100_us"].template get<double>();
  });
  return rows;
}

// Copies to the host and back, which the sum of a program does not contain.
void printBeside(const Ordered &rows) {
  double moved = 0;
  std::array<double, std::size(kColumns)> copies = {}, waits = {};
  for (const Ordered &row : rows) {
    const bool isBeside = row.contains("beside");
    if (isBeside)
      moved += row["bytes"].get<double>() / 2; // read and written
    for (size_t i = 0; i < copies.size(); ++i)
      if (isBeside || row["name"] == "wait_copy")
        (isBeside ? copies : waits)[i] += row[kColumns[i].second].get<double>();
  }
  if (moved > 0)
    printOut("  offload and fetch copy {:.3f} MB beside the others, in {:.2f} "
             "us (H100) and {:.2f} us (H200), of which commands wait {:.2f} "
             "and {:.2f} us\n",
             moved / 1e6, copies[0], copies[1], waits[0], waits[1]);
}

std::string numberOf(const Ordered &row, const char *key) {
  return row.contains(key) ? std::to_string(row[key].get<int64_t>()) : "";
}

} // namespace

Ordered commandCosts(const Artifact &artifact) {
  const Json resources = resourcesOf(artifact);
  const auto machine = artifact.plan().target() == "cpu"
                           ? findCpuFigures(cacheFolder(""), coresOfProcess())
                           : std::nullopt;
  Ordered programs = Ordered::object();
  for (const plan::Program &program : artifact.plan().programs())
    programs[program.name()] = costsOf(program, resources, machine);
  return programs;
}

void printCosts(const Ordered &costs) {
  for (const auto &[program, rows] : costs.items()) {
    const bool isJudged = !rows.empty() && rows.front().contains("cpu_us");
    printOut("\n{}: predicted cost\n  {:32} {:>5} {:>10} {:>10} {:>9} {:>9} "
             "{:>9} {:>5} {:>4}{}\n",
             program, "kernel", "calls", "MB", "MFLOP", "H100 us", "H200 us",
             "grid", "block", "regs", isJudged ? "    CPU us" : "");
    double bytes = 0, first = 0, second = 0, cpu = 0;
    const auto cpuText = [&](double us) {
      return isJudged ? fmt::format(" {:>9.2f}", us) : "";
    };
    for (const Ordered &row : rows) {
      printOut("  {:32} {:>5} {:>10.3f} {:>10.1f} {:>9.2f} {:>9.2f} {:>9} "
               "{:>5} {:>4}{}\n",
               printable(row["name"].get<std::string>()),
               row["calls"].get<uint64_t>(), row["bytes"].get<double>() / 1e6,
               row["flops"].get<double>() / 1e6, row["h100_us"].get<double>(),
               row["h200_us"].get<double>(), numberOf(row, "grid"),
               numberOf(row, "block"), numberOf(row, "registers"),
               cpuText(row.value("cpu_us", 0.0)));
      if (row.contains("beside"))
        continue;
      cpu += row.value("cpu_us", 0.0);
      bytes += row["bytes"].get<double>();
      first += row["h100_us"].get<double>();
      second += row["h200_us"].get<double>();
    }
    printOut("  {:32} {:>5} {:>10.3f} {:>10} {:>9.2f} {:>9.2f}{}\n", "all", "",
             bytes / 1e6, "", first, second,
             isJudged ? fmt::format("{:>21}{}", "", cpuText(cpu)) : "");
    printBeside(rows);
  }
}

} // namespace dlc::tool
