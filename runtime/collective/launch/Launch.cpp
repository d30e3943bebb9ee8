// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/launch/Launch.h"

#include "runtime/base/Text.h"
#include "runtime/base/process/Parallel.h"
#include "runtime/collective/Socket.h"
#include "runtime/collective/launch/Launchers.h"
#include "runtime/collective/launch/Rendezvous.h"
#include "runtime/collective/launch/Variables.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace dlc {
namespace {

// A launcher that may have started this process as one of several.
struct Candidate {
  const Launcher *row;
  int rank = 0;
  std::optional<int> size; // empty: the launcher does not say
  Variable rankOf, sizeOf;

  std::string said() const {
    return sizeOf.isSet()
               ? fmt::format("{} of {}", rankOf.said(), sizeOf.said())
               : rankOf.said();
  }
};

bool isTorchLike(const Launcher &row) {
  return std::strcmp(row.rank, "RANK") == 0;
}

// Whether its rank is the number of a pod of Kubeflow.
bool isPod(const Launcher &row) {
  return std::string_view(row.name).starts_with("Kubeflow");
}

// A task of srun has SLURM_STEP_NUM_TASKS. The shell of salloc and the script
// of sbatch run once, whatever SLURM_NTASKS is: the shell has no SLURM_PROCID,
// the script has 0 but no step.
bool isSlurmTask() {
  if (std::getenv("SLURM_STEP_NUM_TASKS"))
    return true;
  const Variable task = variable("SLURM_PROCID");
  const bool step = variable("SLURM_STEP_ID|SLURM_STEPID").isSet();
  const bool script = std::getenv("SLURM_JOB_ID") && !step && task.text == "0";
  return task.isSet() && !script;
}

bool mayBe(const Launcher &row) {
  if (row.marker && !std::getenv(row.marker))
    return false;
  if (std::strcmp(row.rank, "SLURM_PROCID") == 0)
    return isSlurmTask();
  // The index is that of a pod, in which another launcher such as torchrun may
  // have started this process.
  if (std::strcmp(row.name, "an indexed Job") == 0)
    return !std::getenv("RANK") && !std::getenv("PET_NODE_RANK");
  return !isPod(row) || !std::getenv(isTorchLike(row) ? row.localRank : "RANK");
}

// The candidates among MPI's launchers, Slurm and Kubernetes. Launchers with
// only one task are added to `alone`, which explains tasks of unknown number.
Result<std::vector<Candidate>> tasks(std::vector<std::string> &alone) {
  std::vector<Candidate> found;
  for (const Launcher &row : launchers()) {
    if (isTorchLike(row) || !mayBe(row))
      continue;
    Candidate c{&row,
                0,
                {},
                variable(row.rank),
                row.size ? variable(row.size) : Variable()};
    DLC_ASSIGN(c.size, numberOf(c.sizeOf, 1));
    DLC_ASSIGN(const auto rank, numberOf(c.rankOf, 0));
    if (c.size == 1) {
      alone.push_back(
          fmt::format("{} is one task of {}", c.sizeOf.said(), row.name));
      continue;
    }
    if (!rank && c.size)
      return usageError("{} and {} is not set: is this a task of {}?",
                        c.sizeOf.said(), row.rank, row.name);
    if (!rank)
      continue;
    c.rank = *rank;
    found.push_back(std::move(c));
  }
  return found;
}

Status contradict(const Candidate &a, const Candidate &b) {
  return usageError("the variables of launchers contradict each other: {} "
                    "({}), but {} ({}); unset those of the wrong launcher, or "
                    "give --rank, --world-size and --init",
                    a.said(), a.row->name, b.said(), b.row->name);
}

bool agree(const Candidate &a, const Candidate &b) {
  return a.rank == b.rank && (!a.size || !b.size || a.size == b.size);
}

// Chooses among several candidates: Slurm knows best where the ranks meet; but
// mpirun within a step of Slurm has started more tasks than Slurm knows.
Result<std::optional<Candidate>>
innermost(std::vector<Candidate> found, const std::vector<std::string> &alone,
          bool sizeGiven) {
  std::optional<Candidate> best;
  for (Candidate &c : found) {
    if (!c.size && !sizeGiven && (best || (!alone.empty() && c.rank == 0)))
      continue;
    if (!best || (best->row->meet == Meet::Slurm && !agree(*best, c)))
      best = std::move(c);
    else if (!agree(*best, c))
      return contradict(*best, c);
  }
  if (best && !best->size && !sizeGiven)
    return usageError("{} of {}, which does not set the number of tasks: add "
                      "--world-size=N, or start one task without {}",
                      best->rankOf.said(), best->row->name, best->row->rank);
  return best;
}

// RANK and WORLD_SIZE.
Result<std::optional<Candidate>> torchRank(bool sizeGiven) {
  const Variable rank = variable("RANK"), size = variable("WORLD_SIZE");
  DLC_ASSIGN(const auto sizeNumber, numberOf(size, 1));
  if (!rank.isSet() && sizeNumber.value_or(1) > 1 && !sizeGiven &&
      !std::getenv("JOB_COMPLETION_INDEX"))
    return usageError("WORLD_SIZE is {} and RANK is not set: set both or none",
                      *sizeNumber);
  DLC_ASSIGN(const auto rankNumber, numberOf(rank, 0));
  if (!rankNumber)
    return std::optional<Candidate>();
  if (!sizeNumber && !sizeGiven)
    return usageError("RANK is set and WORLD_SIZE is not: set both or none");
  for (const Launcher &row : launchers())
    if (isTorchLike(row) && mayBe(row))
      return std::optional(
          Candidate{&row, *rankNumber, sizeNumber, rank, size});
  return std::optional<Candidate>();
}

// For RANK set by hand within a launcher's tasks: each task must be one of the
// ranks, or start at least as many. With fewer ranks than tasks, several tasks
// would do the same work.
Status checkNested(const Candidate &rank, const std::vector<Candidate> &tasks) {
  if (std::strcmp(rank.row->name, "the environment") != 0)
    return {};
  for (const Candidate &task : tasks)
    if (task.size && rank.size &&
        (*rank.size < *task.size ||
         (*rank.size == *task.size && rank.rank != task.rank)))
      return contradict(rank, task);
  return {};
}

class Finder {
public:
  Finder(const LaunchFlags &flags, std::chrono::milliseconds timeout)
      : flags_(flags) {
    launch_.rendezvous.timeout = timeout;
  }

  Result<Launch> find() {
    DLC_TRY(choose());
    if (!launch_.isRank())
      return std::move(launch_);
    DLC_TRY(settleLocal());
    DLC_TRY(settleRestarts());
    DLC_TRY(settleInterface());
    DLC_TRY(meetRanks(flags_.init, row_, launch_));
    return std::move(launch_);
  }

private:
  void note(std::string what, std::string value, std::string from) {
    launch_.facts.push_back(
        {std::move(what), std::move(value), std::move(from)});
  }

  Status choose() {
    if (flags_.rank)
      return chooseFlags();
    DLC_ASSIGN(auto chosen, torchRank(flags_.size.has_value()));
    DLC_ASSIGN(const auto all, tasks(launch_.ignored));
    if (chosen) {
      DLC_TRY(checkNested(*chosen, all));
      for (const Candidate &task : all)
        launch_.ignored.push_back(
            fmt::format("{} of {}: RANK is set", task.said(), task.row->name));
    } else {
      DLC_ASSIGN(chosen,
                 innermost(all, launch_.ignored, flags_.size.has_value()));
    }
    if (chosen)
      return take(*chosen);
    if (flags_.size || !flags_.init.empty())
      return usageError(
          "{} needs --rank, or a launcher that sets this process's rank",
          flags_.size ? "--world-size" : "--init");
    return {};
  }

  Status chooseFlags() {
    if (!flags_.size)
      return usageError("--rank needs --world-size");
    launch_.launcher = "flags";
    return settle(static_cast<int>(*flags_.rank), "--rank", 0, "");
  }

  Status take(const Candidate &chosen) {
    row_ = chosen.row;
    launch_.launcher = row_->name;
    return settle(chosen.rank, chosen.rankOf.name, chosen.size.value_or(0),
                  chosen.sizeOf.name);
  }

  Status settle(int rank, const std::string &rankOf, int size,
                std::string sizeOf) {
    if (flags_.size)
      size = static_cast<int>(*flags_.size), sizeOf = "--world-size";
    if (rank >= size)
      return usageError("{} is {}, expected less than {} = {}", rankOf, rank,
                        sizeOf, size);
    launch_.rendezvous.rank = rank;
    launch_.rendezvous.size = size;
    note("rank", std::to_string(rank), rankOf);
    note("world size", std::to_string(size), sizeOf);
    return {};
  }

  // LOCAL_RANK may exceed LOCAL_WORLD_SIZE: restarted ranks keep their GPU.
  Status settleLocal() {
    const Variable rank = variable(row_ && row_->localRank ? row_->localRank
                                                           : "LOCAL_RANK"),
                   size =
                       variable(row_ && row_->localSize ? row_->localSize
                                                        : "LOCAL_WORLD_SIZE");
    DLC_ASSIGN(launch_.localRank, numberOf(rank, 0));
    DLC_ASSIGN(launch_.localSize, numberOf(size, 1));
    const int world = launch_.rendezvous.size;
    if (launch_.localSize && *launch_.localSize > world)
      return usageError("{} is {}, expected at most {} = {}", size.name,
                        *launch_.localSize, launch_.facts[1].from, world);
    if (launch_.localRank)
      note("local rank", rank.text, rank.name);
    if (launch_.localSize)
      note("local ranks", size.text, size.name);
    if (flags_.localRank) {
      launch_.localRank = static_cast<int>(*flags_.localRank);
      note("local rank", std::to_string(*flags_.localRank), "--local-rank");
    }
    if (row_ && row_->meet == Meet::Slurm)
      settleSlurmTasks();
    return row_ && isPod(*row_) ? settlePod() : Status();
  }

  void settleSlurmTasks() {
    const Variable all =
        variable("SLURM_STEP_TASKS_PER_NODE|SLURM_TASKS_PER_NODE");
    const auto node = numberOf(variable("SLURM_NODEID"), 0);
    if (!all.isSet() || !node.ok() || !*node)
      return;
    launch_.localSize = tasksOnNode(all.text, **node);
    if (launch_.localSize)
      note("local ranks", std::to_string(*launch_.localSize), all.name);
  }

  // For Kubeflow: the pod must be one rank.
  Status settlePod() {
    const Variable ranks = variable("PET_NPROC_PER_NODE");
    if (ranks.isSet() && ranks.text != "1")
      return usageError(
          "{}, but {}={} is the number of a pod of Kubeflow's and LOCAL_RANK "
          "is not set: start torchrun --no-python in the pod, which starts the "
          "ranks",
          ranks.said(), row_->rank, launch_.rendezvous.rank);
    launch_.localRank = launch_.localRank.value_or(0);
    launch_.localSize = launch_.localSize.value_or(1);
    return {};
  }

  Status settleRestarts() {
    if (!row_ || !row_->restarts)
      return {};
    const Variable restarts = variable(row_->restarts);
    DLC_ASSIGN(const auto count, numberOf(restarts, 0));
    launch_.restarts = count.value_or(0);
    if (count)
      note("restarts", restarts.text, restarts.name);
    return {};
  }

  Status settleInterface() {
    const Variable own = variable("GLOO_SOCKET_IFNAME");
    const std::string &name =
        flags_.interface.empty() ? own.text : flags_.interface;
    const char *from =
        flags_.interface.empty() ? "GLOO_SOCKET_IFNAME" : "--interface";
    if (name.empty() || launch_.rendezvous.size == 1)
      return {};
    if (addressOfHost(name) == "127.0.0.1" && name != "lo")
      return usageError(
          "{} is '{}', which has no address here: expected one of {}", from,
          printable(name), namesOfInterfaces());
    launch_.rendezvous.interface = name;
    note("interface", name, from);
    return {};
  }

  const LaunchFlags &flags_;
  const Launcher *row_ = nullptr;
  Launch launch_;
};

} // namespace

void LaunchFlags::addTo(OptionTable &table, const std::string &section) {
  constexpr int64_t kMost = 1 << 20;
  table
      .count(section + ".rank", rank, 0,
             "rank of this process, from 0 to --world-size - 1", kMost)
      .flagOnly();
  table
      .count(section + ".world-size", size, 1,
             "number of ranks, each started with its --rank", kMost)
      .flagOnly();
  table
      .count(section + ".local-rank", localRank, 0,
             "rank of this process on its host, which selects the GPU", kMost)
      .flagOnly();
  table
      .text(
          section + ".init", init, "PLACE",
          "rendezvous of the ranks: tcp://HOST:PORT of rank 0, file:///PATH, "
          "env:// (MASTER_ADDR, MASTER_PORT), store://HOST:PORT of a TCPStore")
      .flagOnly();
  table
      .text(section + ".interface", interface, "NAME",
            "network interface of this host by which the ranks connect "
            "(default: GLOO_SOCKET_IFNAME, or the way to rank 0)")
      .flagOnly();
}

Result<Launch> findLaunch(const LaunchFlags &flags,
                          std::chrono::milliseconds timeout) {
  return Finder(flags, timeout).find();
}

Result<std::unique_ptr<Communicator>> joinJob(const Launch &launch) {
  if (launch.localRank)
    ::setenv("LOCAL_RANK", std::to_string(*launch.localRank).c_str(), 1);
  if (launch.rendezvous.size > 1)
    return makeGlooCommunicator(launch.rendezvous);
  return makeSingleCommunicator();
}

int threadsOfRank(const Launch &launch) {
  return std::max(1, coresOfProcess() /
                         launch.localSize.value_or(launch.rendezvous.size));
}

} // namespace dlc
