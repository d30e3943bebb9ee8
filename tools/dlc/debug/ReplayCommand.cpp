// SPDX-License-Identifier: Apache-2.0
// dlc debug replay: repeats a step that ended a run.
#include "runtime/base/Text.h"
#include "runtime/train/overflow/Replay.h"
#include "tools/dlc/Commands.h"
#include "tools/dlc/OptionFlags.h"

namespace dlc::tool {
namespace {

std::string
metricsLine(const std::vector<std::pair<std::string, std::string>> &metrics) {
  return joined(metrics, ", ", [](auto &metric) {
    return metric.first + " " + metric.second;
  });
}

Status compare(const Bundle &bundle, const ReplayResult &result) {
  auto sorted = [](auto metrics) {
    std::ranges::sort(metrics);
    return metrics;
  };
  if (sorted(bundle.incident.metrics) == sorted(result.metrics))
    return {};
  return failed("step {} has other results: {}; the bundle has {}",
                bundle.incident.step, metricsLine(result.metrics),
                metricsLine(bundle.incident.metrics));
}

RankEnd replayAsRank(const Bundle &bundle, int threads,
                     Communicator &communicator) {
  auto result = replay(bundle, communicator, threads);
  if (!result)
    return endOf(result.status());
  if (communicator.rank() > 0)
    return {};
  printOut("{}: {}\n", bundle.path, bundle.incident.reason);
  if (bundle.incident.injected)
    printOut("a gradient was made infinite on purpose (DLC_INJECT_INF)\n");
  printOut("{}\n", result->overflow.empty() ? "all values are finite"
                                            : result->overflow);
  Status same = compare(bundle, *result);
  if (same.ok())
    printOut("reproduced: {}\n", metricsLine(result->metrics));
  return endOf(same);
}

struct ReplayArguments : FlagArguments {
  ReplayArguments() : FlagArguments("replay") {
    table.text("replay.bundle", path, "TEXT", "RUN/replay-<step>")
        .named("bundle");
    addThreads(table, "replay.threads", threads,
               "threads per rank (default: as in the run)");
    table
        .number(
            "replay.timeout", timeout, 0.1, 1e6,
            "time in seconds after which a rank that others wait for is lost")
        .described("SECONDS");
    table.group("Ranks");
    launch.addTo(table, "replay");
  }

  std::string path;
  std::optional<int64_t> threads;
  double timeout = 60;
  LaunchFlags launch;
};

Result<int> runReplay(ReplayArguments &a,
                      const std::vector<std::string> &words) {
  DLC_ASSIGN(const Bundle bundle, openBundle(a.path));
  const int threads = int(a.threads.value_or(bundle.incident.threads));
  auto countRanks = [&]() -> Result<int> { return bundle.incident.ranks; };
  DLC_ASSIGN(const Launch launch,
             findLaunch(a.launch, milliseconds(a.timeout)));
  return runAsRanks(launch, countRanks, words, [&](Communicator &communicator) {
    return replayAsRank(bundle, threads, communicator);
  });
}

} // namespace

void addReplay(CommandLine &line, CLI::App &parent) {
  CLI::App *command = parent.add_subcommand(
      "replay", "repeat the step that ended a run, and name the node");
  auto a = std::make_shared<ReplayArguments>();
  addFlagCommand(line, *command, a,
                 [&line](ReplayArguments &given) {
                   return runReplay(given, line.arguments);
                 },
                 {"bundle"});
  command->footer(
      "Exit code 0: the step had the same results; 1: other "
      "results.\n\nExample:\n  dlc debug replay runs/lenet-1/replay-120");
}

} // namespace dlc::tool
