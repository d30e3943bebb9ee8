// dlc replay: does a step again that ended a run.
#include "runtime/train/overflow/Replay.h"
#include "tools/dlc/Commands.h"
#include "tools/dlc/Validators.h"

namespace dlc::tool {
namespace {

std::string
metricsLine(const std::vector<std::pair<std::string, std::string>> &metrics) {
  std::string text;
  for (const auto &[name, value] : metrics)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value);
  return text;
}

Status compare(const Bundle &bundle, const ReplayResult &result) {
  auto sorted = [](auto metrics) {
    std::sort(metrics.begin(), metrics.end());
    return metrics;
  };
  if (sorted(bundle.incident.metrics) == sorted(result.metrics))
    return {};
  return failed("step {} came out differently: {}; the bundle has {}",
                bundle.incident.step, metricsLine(result.metrics),
                metricsLine(bundle.incident.metrics));
}

RankEnd replayAsRank(const Bundle &bundle, int threads,
                     Communicator &communicator) {
  auto result = replay(bundle, communicator,
                       threads > 0 ? threads : bundle.incident.threads);
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

} // namespace

void addReplay(CommandLine &line) {
  struct Arguments {
    std::string path;
    int threads = 0;
    double timeout = 60;
  };
  CLI::App *command = line.app.add_subcommand(
      "replay", "do a step again that ended a run, and name the node");
  auto a = std::make_shared<Arguments>();
  command->add_option("bundle", a->path, "RUN/replay-<step>")->required();
  command
      ->add_option("--threads", a->threads, "of each rank (default: as then)")
      ->type_name("N")
      ->check(wholeNumber(1, 4096));
  command
      ->add_option("--timeout", a->timeout,
                   "seconds that a rank may be silent (default 60)")
      ->type_name("SECONDS")
      ->check(number(0.1, 1e6));
  command->footer("Exit code 0: the step came out as it did then; 1: it did "
                  "not.\n\nExample:\n  dlc replay runs/lenet-1/replay-120");
  command->callback([&line, a] {
    line.chosen = [&line, a] {
      auto bundle = openBundle(a->path);
      if (!bundle)
        return report(bundle.status());
      auto countRanks = [&]() -> Result<int> { return bundle->incident.ranks; };
      return runAsRanks(countRanks, a->timeout, line.arguments,
                        [&](Communicator &communicator) {
                          return replayAsRank(*bundle, a->threads,
                                              communicator);
                        });
    };
  });
}

} // namespace dlc::tool
