// SPDX-License-Identifier: Apache-2.0
// dlc doctor bench: measures this machine's peak rates.
#include "tools/dlc/OptionFlags.h"
#include "tools/dlc/Print.h"

#include "runtime/base/files/CacheFolder.h"
#include "runtime/device/CpuFigures.h"

namespace dlc::tool {
namespace {

struct BenchArguments : FlagArguments {
  BenchArguments() : FlagArguments("bench") {
    table.group("Options");
    addThreads(table, "bench.threads", threads,
               "number of threads (default: as many as a run would use)");
    table.text("bench.cache-dir", folder, "FOLDER",
               "folder of the result (default: DLC_CACHE_DIR, "
               "XDG_CACHE_HOME/dlc or ~/.cache/dlc)");
    table.toggle("bench.json", json, "one JSON object on stdout");
  }

  std::optional<int64_t> threads;
  std::string folder;
  bool json = false;
};

Status measure(const BenchArguments &arguments) {
  const std::string folder = cacheFolder(arguments.folder);
  DLC_ASSIGN(const CpuFigures figures,
             measureCpu(int(arguments.threads.value_or(0))));
  DLC_TRY(keepCpuFigures(folder, figures));
  if (arguments.json) {
    nlohmann::ordered_json object = {{"threads", figures.threads},
                                     {"f32_flops", figures.single},
                                     {"bf16_flops", figures.half},
                                     {"bandwidth", figures.bandwidth}};
    printJson(object);
  } else
    printOut("threads    {}\nf32        {:.1f} GFLOP/s\n"
             "bf16       {}\nbandwidth  {:.1f} GB/s\n",
             figures.threads, figures.single / 1e9,
             figures.half > 0
                 ? fmt::format("{:.1f} GFLOP/s", figures.half / 1e9)
                 : "computed in f32",
             figures.bandwidth / 1e9);
  return {};
}

} // namespace

void addBench(CommandLine &line, CLI::App &parent) {
  CLI::App *bench =
      parent.add_subcommand("bench", "measure this machine's peak rates");
  bench->require_subcommand(1);
  CLI::App *machine =
      bench->add_subcommand("machine", "matrix products and bandwidth of the "
                                       "CPU, stored for dlc train --profile");
  addFlagCommand(line, *machine, std::make_shared<BenchArguments>(), measure);
  machine->footer(
      R"(Takes about two seconds and 0.4 GB on an idle machine. dlc train --profile and
dlc inspect --costs then show what each command would take at these rates. dlc doctor cache
list shows the measurement.

Examples:
  dlc doctor bench machine
  dlc doctor bench machine --threads=1 --json)");
}

} // namespace dlc::tool
