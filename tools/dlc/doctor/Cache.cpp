// SPDX-License-Identifier: Apache-2.0
// dlc doctor cache and bench: measurements of this machine's devices.
#include "tools/dlc/Commands.h"
#include "tools/dlc/Print.h"

#include "runtime/base/files/CacheFolder.h"
#include "runtime/base/files/Files.h"
#include "runtime/device/CpuFigures.h"
#include "runtime/device/TuneCache.h"
#include "tools/dlc/OptionFlags.h"

namespace dlc::tool {
namespace {

struct CacheArguments {
  std::string folder, before, output;
  bool json = false;
};

Json describe(const TuneCache::Item &item) {
  Json object = {{"path", item.path}, {"bytes", item.bytes}};
  if (!item.problem.empty()) {
    object["problem"] = item.problem;
    return object;
  }
  object["key"] = item.key;
  object["engine"] = item.entry.engine;
  object["knobs"] = item.entry.knobs;
  object["milliseconds"] = item.entry.milliseconds;
  object["workspace"] = item.entry.workspace;
  object["date"] = item.entry.date;
  return object;
}

std::string text(const Json &key, const char *name) {
  const auto found = key.find(name);
  return found == key.end()   ? "?"
         : found->is_string() ? found->get<std::string>()
                              : dumpJson(*found);
}

Status list(const CacheArguments &arguments) {
  DLC_ASSIGN(const TuneCache cache,
             TuneCache::open(cacheFolder(arguments.folder)));
  DLC_ASSIGN(const auto items, cache.list());
  uint64_t bytes = 0;
  for (const TuneCache::Item &item : items) {
    bytes += item.bytes;
    if (arguments.json)
      printJson(describe(item));
    else if (!item.problem.empty())
      printOut("{}: ignored: {}\n", item.path, item.problem);
    else if (item.key.contains("cpu"))
      printOut("{}  {}  {} threads  {}\n", text(item.key, "op"),
               text(item.key, "cpu"), text(item.key, "threads"),
               item.entry.date);
    else
      printOut("{:.4f} ms  {}  engine {}  {} sm_{}  {}\n",
               item.entry.milliseconds, text(item.key, "op"), item.entry.engine,
               text(item.key, "gpu"), text(item.key, "sm"), item.entry.date);
  }
  if (!arguments.json)
    printOut("{} entries, {} bytes in {}\n", items.size(), bytes,
             cache.folder());
  return {};
}

Status prune(const CacheArguments &arguments) {
  DLC_ASSIGN(const TuneCache cache,
             TuneCache::open(cacheFolder(arguments.folder)));
  DLC_ASSIGN(const size_t removed, cache.prune(arguments.before));
  printOut("removed {} entries from {}\n", removed, cache.folder());
  return {};
}

// Prints valid entries, one object per line.
Status exportEntries(const CacheArguments &arguments) {
  DLC_ASSIGN(const TuneCache cache,
             TuneCache::open(cacheFolder(arguments.folder)));
  DLC_ASSIGN(const auto items, cache.list());
  std::string lines;
  for (const TuneCache::Item &item : items)
    if (item.problem.empty())
      lines += dumpJson(describe(item)) + "\n";
  return writeFileAtomically(arguments.output, lines);
}

CLI::App *add(CommandLine &line, CLI::App &parent, const char *name,
              const char *description,
              std::shared_ptr<CacheArguments> arguments,
              Status (*run)(const CacheArguments &)) {
  CLI::App *command = parent.add_subcommand(name, description);
  command
      ->add_option("--cache-dir", arguments->folder,
                   "cache folder (default: DLC_CACHE_DIR, XDG_CACHE_HOME/dlc "
                   "or ~/.cache/dlc)")
      ->type_name("FOLDER");
  runIfChosen(line, *command, [arguments, run] { return run(*arguments); });
  return command;
}

struct BenchArguments : FlagArguments {
  BenchArguments() : FlagArguments("bench") {
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

void addCache(CommandLine &line, CLI::App &parent) {
  CLI::App *cache =
      parent.add_subcommand("cache", "measurements of this machine's devices");
  cache->require_subcommand(1);
  auto arguments = std::make_shared<CacheArguments>();
  add(line, *cache, "list", "list the entries, one per line", arguments, list)
      ->add_flag("--json", arguments->json,
                 "one JSON object per line on stdout");
  add(line, *cache, "prune",
      "remove damaged entries and, with --before, old ones", arguments, prune)
      ->add_option("--before", arguments->before,
                   "date of the oldest measurement to keep, as in 2026-01-31")
      ->type_name("DATE");
  add(line, *cache, "export", "write the entries as JSON, one object per line",
      arguments, exportEntries)
      ->add_option("-o,--output", arguments->output, "output file")
      ->required()
      ->type_name("FILE");
  cache->footer("Example:\n  dlc doctor cache prune --before=2026-01-31");
}

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
