// SPDX-License-Identifier: Apache-2.0
// dlc doctor env: shows the role of this process in a job, and why.
#include "runtime/base/options/Environment.h"
#include "tools/dlc/Commands.h"
#include "tools/dlc/OptionFlags.h"
#include "tools/dlc/Print.h"

namespace dlc::tool {
namespace {

struct EnvArguments : FlagArguments {
  EnvArguments() : FlagArguments("env") {
    table.toggle("env.json", json, "one JSON object on stdout");
    table.group("Ranks");
    launch.addTo(table, "env");
  }

  bool json = false;
  LaunchFlags launch;
};

// The GPUs visible to a rank, and the one it uses (device/cuda).
LaunchFact deviceOf(const Launch &launch) {
  const auto visible = environment::visibleGpus();
  const std::string own = launch.localRank
                              ? std::to_string(*launch.localRank)
                              : std::to_string(launch.rendezvous.rank);
  return {"GPU", own + " of those visible, or the only one",
          visible ? fmt::format("CUDA_VISIBLE_DEVICES={}", *visible)
                  : "CUDA_VISIBLE_DEVICES is not set"};
}

void printLaunch(const Launch &launch) {
  if (!launch.isRank())
    printOut("launcher     none: dlc train starts the ranks, on this host\n");
  else
    printOut("launcher     {}\n", launch.launcher);
  for (const LaunchFact &fact : launch.facts)
    printOut("{:<12} {}  ({})\n", fact.what, fact.value, fact.from);
  for (const std::string &reason : launch.ignored)
    printOut("not used     {}\n", reason);
}

void printObject(const Launch &launch) {
  nlohmann::ordered_json object;
  object["launcher"] = launch.isRank() ? Json(launch.launcher) : Json();
  object["rank"] = launch.rendezvous.rank;
  object["world_size"] = launch.rendezvous.size;
  object["facts"] = Json::array();
  for (const LaunchFact &fact : launch.facts)
    object["facts"].push_back(
        {{"what", fact.what}, {"value", fact.value}, {"from", fact.from}});
  object["not_used"] = launch.ignored;
  printJson(object);
}

Status showRank(EnvArguments &arguments) {
  DLC_ASSIGN(Launch launch,
             findLaunch(arguments.launch, std::chrono::seconds(60)));
  if (launch.isRank())
    launch.facts.push_back(deviceOf(launch));
  for (const auto &[name, value] : environment::ncclVariables())
    launch.facts.push_back({"NCCL", value, name});
  if (arguments.json)
    printObject(launch);
  else
    printLaunch(launch);
  return {};
}

} // namespace

void addEnv(CommandLine &line, CLI::App &parent) {
  CLI::App *command = parent.add_subcommand(
      "env", "print the rank of a job that this process would have, and why");
  auto arguments = std::make_shared<EnvArguments>();
  addFlagCommand(line, *command, arguments, showRank);
  command->footer(
      R"(Reads what dlc train would read, in this order, and starts nothing: flags; RANK and
WORLD_SIZE with MASTER_ADDR and MASTER_PORT (dlc train itself, torchrun, Ray Train,
Kubeflow PyTorchJob); Kubeflow TrainJob; an indexed Job with WORLD_SIZE; Slurm; Open MPI; MVAPICH,
MPICH, jsrun, Flux, PALS, PMIx.
Contradictory variables end with code 2, as in dlc train.

Examples:
  torchrun --nproc-per-node=2 --no-python dlc doctor env
  srun -n 4 dlc doctor env --json
  mpirun -n 2 dlc doctor env --init=tcp://node0:29500)");
}

} // namespace dlc::tool
