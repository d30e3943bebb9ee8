// SPDX-License-Identifier: Apache-2.0
// dlc doctor bench: what this machine does at most.
#include "tools/dlc/OptionFlags.h"
#include "tools/dlc/Print.h"
#include "tools/dlc/Rows.h"

#include "runtime/base/files/CacheFolder.h"
#include "runtime/device/CpuFigures.h"

namespace dlc::tool {
namespace {

struct BenchArguments {
  BenchArguments() {
    table.group("Options");
    addThreads(table, "bench.threads", threads,
               "of a run that is judged (default: as many as a run would use)");
    table.text("bench.cache-dir", folder, "FOLDER",
               "where to keep it (default: DLC_CACHE_DIR, XDG_CACHE_HOME/dlc "
               "or ~/.cache/dlc)");
    table.toggle("bench.json", json, "one object on stdout");
  }

  std::optional<int64_t> threads;
  std::string folder;
  bool json = false;
  OptionTable table;
  OptionFlags flags{table, onlySection("bench")};
};

Status measure(const BenchArguments &arguments) {
  const std::string folder = cacheFolder(arguments.folder);
  DLC_ASSIGN(const CpuFigures figures,
             measureCpu(static_cast<int>(arguments.threads.value_or(0))));
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
      parent.add_subcommand("bench", "measure what this machine does at most");
  bench->require_subcommand(1);
  CLI::App *machine = bench->add_subcommand(
      "machine", "products and bandwidth of the CPU, kept for dlc train "
                 "--profile");
  addFlagCommand(line, *machine, std::make_shared<BenchArguments>(), measure);
  machine->footer(
      "Takes about two seconds and 0.4 GB of an idle machine. From then on dlc "
      "train --profile\nand dlc inspect --costs say what each command would "
      "take at these rates. dlc doctor cache\nlist shows what was measured.\n\n"
      "Examples:\n  dlc doctor bench machine\n  dlc doctor bench machine "
      "--threads=1 --json");
}

} // namespace dlc::tool
