// SPDX-License-Identifier: Apache-2.0
// dlc plan: predicts step times on numbers of GPUs that are not available.
#include "runtime/base/Bytes.h"
#include "runtime/base/Text.h"
#include "runtime/plan/Model.h"
#include "runtime/plan/Ports.h"
#include "runtime/plan/forecast/Forecast.h"
#include "tools/dlc/Commands.h"
#include "tools/dlc/OptionFlags.h"
#include "tools/dlc/Print.h"

namespace dlc::tool {
namespace {

using forecast::ZeroLevel;
using Ordered = nlohmann::ordered_json;

struct PlanArguments : FlagArguments {
  PlanArguments() : FlagArguments("plan") {
    table.text("plan.model", model, "MODEL", "an artifact, run or checkpoint")
        .named("model");
    table.text("plan.gpus", ranks, "N,N", "numbers of GPUs, one rank per GPU");
    table.text(
        "plan.gpu", gpu, "NAME",
        "GPU whose data sheet is used: A100, A40, L40S, H100, H200, B200");
    table.count("plan.node", network.node, 1, "ranks per node");
    table.count("plan.zero-group", group, 0,
                "ranks of a group over which zero 1 to 3 shard, like dlc train "
                "--zero-group; 0: all");
    table.text("plan.net", net, "BANDWIDTH",
               "bandwidth of each rank's network card, per direction");
    table.text("plan.link", link, "BANDWIDTH",
               "bandwidth between ranks of a node, per direction (default: the "
               "GPU's)");
    table.number("plan.latency", latency, 0, 1e6,
                 "latency of a socket message in microseconds, for ranks on "
                 "CPUs (default there: 50)");
    table.number("plan.jitter", network.jitter, 0, 1,
                 "standard deviation of a rank's compute time from step to "
                 "step, as a share of it: a step waits for the slowest rank");
    table.number("plan.input", network.input, 0, 1e12,
                 "samples per second that a node's CPUs prepare; 0: no limit");
    table.text("plan.profile", profile, "FILE",
               "profile.json of a run (dlc train --profile): measured times of "
               "its commands, in place of the GPU's");
    table.number("plan.step", milliseconds, 0, 1e9,
                 "measured time of a step of one rank in milliseconds, to "
                 "which all times are scaled");
    table.toggle("plan.json", json, "one JSON object on stdout");
  }

  std::string model, ranks = "1,8,64,1024", gpu = "H200", net = "400Gbps", link,
                     profile;
  std::optional<double> latency, milliseconds;
  int64_t group = 0;
  bool json = false;
  forecast::Network network;
};

Result<std::vector<int64_t>> rankCounts(const std::string &text) {
  std::vector<int64_t> ranks;
  for (const std::string &word : splitAtCommas(text)) {
    const Result<int64_t> count = parseCount(word, 1, 1 << 20);
    if (!count)
      return usageError("--gpus: expected whole numbers from 1 to 1048576, "
                        "found '{}'",
                        text);
    ranks.push_back(*count);
  }
  return ranks;
}

Status settleNetwork(PlanArguments &a, const plan::Plan &plan) {
  const bool cpu = plan.target() == "cpu";
  const auto bandwidth = [](const char *flag, const std::string &text) {
    return forecast::parseBandwidth(text).withContext(flag);
  };
  DLC_ASSIGN(a.network.across, bandwidth("--net", a.net));
  const forecast::Link sheet = forecast::linkOf(a.gpu);
  a.network.inside = sheet.bandwidth;
  if (!a.link.empty()) {
    DLC_ASSIGN(a.network.inside, bandwidth("--link", a.link));
  } else if (cpu) {
    a.network.inside = a.network.across;
  }
  if (!cpu && a.network.inside >= sheet.bandwidth) // else it is no NVLink
    a.network.nvls = sheet.nvls;
  if (a.network.inside == 0)
    return usageError(
        "unknown GPU '{}': expected A100, A40, L40S, H100, H200 or B200",
        a.gpu);
  if (a.latency || cpu)
    a.network.socketLatency = a.latency.value_or(50) * 1e-6;
  return {};
}

Result<forecast::CommandTimes> timesOf(const PlanArguments &a,
                                       const plan::Plan &plan) {
  if (a.profile.empty() && plan.target() == "cpu")
    return usageError(
        "'{}' was compiled for CPUs, whose times are not predicted: give "
        "measured times by --profile=RUN/profile.json (dlc train --profile)",
        a.model);
  auto times = a.profile.empty()
                   ? forecast::predictedTimes(plan, *findGpu(a.gpu))
                   : forecast::measuredTimes(plan, a.profile);
  if (!times || !a.milliseconds)
    return times;
  forecast::Network network = a.network;
  network.input = 0;
  const double one =
      forecast::predict(plan, *times, network, 1, ZeroLevel::None).seconds;
  for (auto &[program, seconds] : *times)
    for (double &s : seconds)
      s *= one > 0 ? *a.milliseconds * 1e-3 / one : 1;
  return times;
}

Ordered rowOf(const plan::Plan &plan, const forecast::Step &step,
              const forecast::Step &one, int64_t ranks, ZeroLevel level) {
  const double samples =
      double(ranks * plan.batch() * std::max<int64_t>(1, plan.accumulate()));
  const double hidden =
      step.communication > 0 ? 1 - step.exposed / step.communication : 1;
  return {{"ranks", ranks},
          {"mode", forecast::nameOf(level)},
          {"step_ms", 1e3 * step.seconds},
          {"compute_ms", 1e3 * step.compute},
          {"communication_ms", 1e3 * step.communication},
          {"exposed_ms", 1e3 * step.exposed},
          {"waiting_ms", 1e3 * step.waiting},
          {"overlap", hidden},
          {"efficiency", one.seconds / step.seconds},
          {"samples_per_second", samples / step.seconds},
          {"memory_bytes", step.memory},
          {"algorithm", step.algorithm}};
}

void printTable(const Ordered &rows) {
  printOut("{:>8}  {:7} {:>9} {:>9} {:>8} {:>10} {:>12} {:>10}  {}\n", "ranks",
           "mode", "step ms", "exposed", "overlap", "efficiency", "samples/s",
           "memory", "reduced by");
  for (const Ordered &row : rows) {
    const auto number = [&](const char *key) { return row[key].get<double>(); };
    printOut("{:>8}  {:7} {:>9.3f} {:>9.3f} {:>6.0f} % {:>8.1f} % {:>12.0f} "
             "{:>10}  {}\n",
             row["ranks"].get<int64_t>(), row["mode"].get<std::string>(),
             number("step_ms"), number("exposed_ms"), 100 * number("overlap"),
             100 * number("efficiency"), number("samples_per_second"),
             roundBytes(number("memory_bytes")),
             row["algorithm"].get<std::string>());
  }
}

Status show(PlanArguments &a) {
  if (a.model.empty())
    return usageError("expected an artifact, a run or a checkpoint");
  DLC_ASSIGN(const auto counts, rankCounts(a.ranks));
  DLC_ASSIGN(Model model, openModel(a.model, Artifact::Use::Inspect));
  const plan::Plan &plan = model.artifact.plan();
  if (plan.world_size() < 2)
    return usageError("'{}' was compiled for one rank: compile it with "
                      "--ddp=2 or more, any number of which may train it",
                      a.model);
  DLC_TRY(settleNetwork(a, plan));
  DLC_ASSIGN(const auto times, timesOf(a, plan));
  const forecast::Step one =
      forecast::predict(plan, times, a.network, 1, ZeroLevel::None);
  Ordered rows = Ordered::array();
  for (int64_t ranks : counts) {
    const int64_t group = ranks > 1 ? a.group : 0;
    DLC_TRY(forecast::checkRanks(a.network, ranks, group));
    for (ZeroLevel level : {ZeroLevel::None, ZeroLevel::Moments,
                            ZeroLevel::Gradients, ZeroLevel::Parameters})
      if (level == ZeroLevel::None || (ranks > 1 && !plan::syncEvery(plan)))
        rows.push_back(rowOf(
            plan,
            forecast::predict(plan, times, a.network, ranks, level, group), one,
            ranks, level));
  }
  if (a.json)
    printJson(
        Ordered{{"model", a.model},
                {"gpu", plan.target() == "cpu" ? Ordered() : Ordered(a.gpu)},
                {"node", a.network.node},
                {"zero_group", a.group},
                {"inside_bytes_per_second", a.network.inside},
                {"across_bytes_per_second", a.network.across},
                {"rows", rows}},
        2);
  else
    printTable(rows);
  return {};
}

} // namespace

void addPlan(CommandLine &line) {
  CLI::App *command = line.app.add_subcommand(
      "plan", "predict a step's time and memory on many GPUs");
  auto arguments = std::make_shared<PlanArguments>();
  addFlagCommand(line, *command, arguments, show);
  command->footer(
      R"(A prediction, not a measurement: commands by the GPU's data sheet (dlc inspect --costs),
or as measured by --profile or --step; collectives by the algorithm that NCCL's cost
model finds fastest (ring, tree, or a switch that adds: nvls, nvls-tree), overlapped with the backward pass as in the plan. Each rank has the
model's batch. zero 1 to 3 shard moments and averages, gradients, and parameters, which
are then all-gathered.

Examples:
  dlc plan gpt2.dlc --gpus=8,64,1024 --node=8 --net=400Gbps
  dlc plan gpt2.dlc --step=34 --jitter=0.03 --input=20000
  dlc plan lenet.dlc --profile=run/profile.json --net=10Gbps --node=1)");
}

} // namespace dlc::tool
