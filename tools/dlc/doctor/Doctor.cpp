// SPDX-License-Identifier: Apache-2.0
// dlc doctor: shows the machine's hardware, its use by dlc, and remedies.
#include "tools/dlc/doctor/Machine.h"

#include "runtime/exec/Devices.h"
#include "tools/dlc/Commands.h"
#include "tools/dlc/OptionFlags.h"
#include "tools/dlc/Print.h"

namespace dlc::tool {
namespace {

struct DoctorArguments : FlagArguments {
  DoctorArguments() : FlagArguments("doctor") {
    table.group("Options");
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
