// SPDX-License-Identifier: Apache-2.0
// dlc report: writes a self-contained HTML page about runs.
#include "runtime/base/files/Files.h"
#include "tools/dlc/Commands.h"
#include "tools/dlc/OptionFlags.h"
#include "tools/dlc/report/GatherRuns.h"
#include "tools/dlc/report/Page.h"

namespace dlc::tool {
namespace {

struct ReportArguments : FlagArguments {
  ReportArguments() : FlagArguments("report") {
    table.group("Options");
    table.list("report.runs", runs, "RUN", "run folders").named("runs");
    addOutput(table, "report.output", output, "page (default report.html)");
    table.text("report.data", data, "PATH",
               "pictures, as --data of dlc eval, for which the page shows each "
               "run's predictions");
    table.count("report.pictures", pictures, 1,
                "number of pictures of --data to show", 1000);
  }

  Words runs;
  std::string output, data;
  int64_t pictures = 24;
};

Status writeReport(const ReportArguments &arguments) {
  Json runs = Json::array();
  std::set<std::string> drawn;
  for (const std::string &run : arguments.runs) {
    DLC_ASSIGN(Json gathered, gatherRun(run, drawn));
    if (!arguments.data.empty()) {
      DLC_ASSIGN(gathered["predictions"],
                 predictionsOf(run, arguments.data, arguments.pictures));
    }
    runs.push_back(std::move(gathered));
  }
  const std::string path =
      arguments.output.empty() ? "report.html" : arguments.output;
  DLC_TRY(writeFileAtomically(path, reportPage({{"runs", runs}})));
  printOut("{}\n", path);
  return {};
}

} // namespace

void addReport(CommandLine &line) {
  CLI::App *command = line.app.add_subcommand(
      "report", "write a page of curves, time and memory");
  auto arguments = std::make_shared<ReportArguments>();
  addFlagCommand(line, *command, arguments, writeReport);
  command->get_option("runs")
      ->required()
      ->expected(1, 1 << 16)
      ->allow_extra_args();
  command->footer(
      R"(One HTML file that needs no network: loss and metrics of one or more runs, the settings that
differ, time by node (of runs with --profile), memory over a step, the model as a graph.

Examples:
  dlc report runs/lenet-1
  dlc report runs/flowers --data=flowers/val
  dlc report runs/lenet-1 runs/lenet-2 -o both.html)");
}

} // namespace dlc::tool
