#include "runtime/collective/Environment.h"

#include "runtime/base/Text.h"
#include "runtime/collective/TcpStore.h"

#include <charconv>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>

namespace dlc {
namespace {

using Number = std::optional<int>;

// A variable that may be missing; empty is no number.
Result<Number> numberOf(const char *name, int least, int most = INT_MAX) {
  const char *text = std::getenv(name);
  if (!text)
    return Number();
  int value = 0;
  const char *const end = text + std::strlen(text);
  auto [stop, error] = std::from_chars(text, end, value);
  if (error == std::errc() && stop == end && value >= least && value <= most)
    return Number(value);
  return usageError("{} is '{}', expected a whole number of {}", name,
                    printable(text),
                    most == INT_MAX ? fmt::format("at least {}", least)
                                    : fmt::format("{} to {}", least, most));
}

Result<int> needed(const char *name, int least, int most = INT_MAX) {
  DLC_ASSIGN(const Number value, numberOf(name, least, most));
  if (!value)
    return usageError("RANK is set and {} is not: set both or none", name);
  return *value;
}

Status checkLess(const char *name, const Number &value, const char *of,
                 const Number &size) {
  if (!value || !size || *value < *size)
    return {};
  return usageError("{} is {}, expected less than {} = {}", name, *value, of,
                    *size);
}

Status checkLocal(const Number &world) {
  // LOCAL_RANK may be more than LOCAL_WORLD_SIZE: ranks that are left of a job
  // keep their GPU.
  DLC_TRY(numberOf("LOCAL_RANK", 0).status());
  DLC_ASSIGN(const Number size, numberOf("LOCAL_WORLD_SIZE", 1));
  if (world && size && *size > *world)
    return usageError("LOCAL_WORLD_SIZE is {}, expected at most WORLD_SIZE = "
                      "{}",
                      *size, *world);
  return {};
}

// How launchers tell a task how many there are, and which one it is.
struct Launcher {
  const char *name, *size, *rank;
};
constexpr Launcher kLaunchers[] = {
    {"Open MPI", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
    {"MVAPICH", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"},
    {"MVAPICH", "MPIRUN_NPROCS", "MPIRUN_RANK"},
    {"MPI", "PMI_SIZE", "PMI_RANK"},
    {"jsrun", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_RANK"},
    {"Flux", "FLUX_JOB_SIZE", "FLUX_TASK_RANK"},
    {"PALS", nullptr, "PALS_RANKID"},
    {"PMIx", nullptr, "PMIX_RANK"},
};

Status refuse(const char *launcher, const std::string &seen) {
  return usageError(
      "this is one of several tasks of {} ({}), which dlc does not know how to "
      "join: each would do the whole job. Start one task, or ranks as torchrun "
      "does (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT); if it is one task, "
      "unset the variable",
      launcher, seen);
}

// A task of srun has SLURM_STEP_NUM_TASKS. A shell of salloc and the script of
// sbatch run once, whatever SLURM_NTASKS says: the first has no SLURM_PROCID,
// the second 0 but no step.
Status checkSlurm(bool &alone) {
  DLC_ASSIGN(const Number inStep, numberOf("SLURM_STEP_NUM_TASKS", 1));
  DLC_ASSIGN(const Number task, numberOf("SLURM_PROCID", 0));
  DLC_ASSIGN(const Number tasks, numberOf("SLURM_NTASKS", 1));
  const auto has = [](const char *name) {
    return std::getenv(name) != nullptr;
  };
  const std::string seen = fmt::format("SLURM_PROCID={}", task.value_or(0));
  if (inStep) {
    alone = *inStep == 1;
    return alone ? Status()
                 : refuse("Slurm", fmt::format("{}, SLURM_STEP_NUM_TASKS={}",
                                               seen, *inStep));
  }
  const bool step = has("SLURM_STEP_ID") || has("SLURM_STEPID");
  const bool script = has("SLURM_JOB_ID") && !step && task == 0;
  if (!task || script || (*task == 0 && tasks.value_or(1) == 1))
    return {};
  return refuse(
      "Slurm", tasks ? fmt::format("{}, SLURM_NTASKS={}", seen, *tasks) : seen);
}

// A launcher whose ranks would each believe to be the only one.
Status checkNoOtherLauncher() {
  bool alone = false; // one of them says so
  DLC_TRY(checkSlurm(alone));
  const char *unsure = nullptr, *name = nullptr;
  for (const Launcher &launcher : kLaunchers) {
    Number size;
    if (launcher.size) {
      DLC_ASSIGN(size, numberOf(launcher.size, 1));
    }
    DLC_ASSIGN(const Number rank, numberOf(launcher.rank, 0));
    if (size.value_or(1) > 1)
      return refuse(launcher.name, fmt::format("{}={}", launcher.size, *size));
    if (rank.value_or(0) > 0)
      return refuse(launcher.name, fmt::format("{}={}", launcher.rank, *rank));
    alone |= size.has_value();
    if (rank && !size)
      unsure = launcher.rank, name = launcher.name;
  }
  if (unsure && !alone)
    return refuse(name, fmt::format("{}=0", unsure));
  return {};
}

Result<std::string> tokenOfJob() {
  const char *text = std::getenv("DLC_JOB_TOKEN");
  const std::string token = text ? text : "";
  if (!text || (token.size() >= 16 && token.size() <= StoreLimits::kToken))
    return token;
  return usageError("DLC_JOB_TOKEN has {} characters, expected 16 to {}: a "
                    "secret, the same for all ranks of a job and no other",
                    token.size(), StoreLimits::kToken);
}

// "127.0.0.1:29501", and rank 0's listener.
Status meetAt(const std::string &place, Rendezvous &rendezvous) {
  const size_t colon = place.rfind(':');
  const char *const end = place.data() + place.size();
  const char *const digits =
      colon == place.npos ? end : place.data() + colon + 1;
  auto [stop, error] = std::from_chars(digits, end, rendezvous.port);
  if (error != std::errc() || stop != end || rendezvous.port < 1 ||
      rendezvous.port > 65535)
    return usageError("DLC_RENDEZVOUS is '{}', expected ADDRESS:PORT, as dlc "
                      "train sets it for its own ranks",
                      printable(place));
  rendezvous.address = place.substr(0, colon);
  DLC_ASSIGN(const Number listener, numberOf("DLC_JOB_LISTENER", 3));
  if (!listener || rendezvous.rank > 0)
    return {};
  int listens = 0;
  socklen_t size = sizeof listens;
  if (::getsockopt(*listener, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) !=
          0 ||
      !listens)
    return usageError("DLC_JOB_LISTENER is {}, which is no socket that listens",
                      *listener);
  ::fcntl(*listener, F_SETFD, FD_CLOEXEC);
  rendezvous.listener = *listener;
  return {};
}

} // namespace

Result<std::optional<Rendezvous>>
rendezvousFromEnvironment(std::chrono::milliseconds timeout) {
  DLC_ASSIGN(const Number world, numberOf("WORLD_SIZE", 1));
  DLC_TRY(checkLocal(world));
  if (!std::getenv("RANK")) {
    if (world.value_or(1) > 1)
      return usageError("WORLD_SIZE is {} and RANK is not set: set both or "
                        "none",
                        *world);
    DLC_TRY(checkNoOtherLauncher());
    return std::optional<Rendezvous>();
  }
  Rendezvous rendezvous;
  rendezvous.timeout = timeout;
  DLC_ASSIGN(rendezvous.rank, needed("RANK", 0));
  DLC_ASSIGN(rendezvous.size, needed("WORLD_SIZE", 1));
  DLC_TRY(checkLess("RANK", rendezvous.rank, "WORLD_SIZE", rendezvous.size));
  DLC_ASSIGN(rendezvous.token, tokenOfJob());
  if (const char *place = std::getenv("DLC_RENDEZVOUS")) {
    DLC_TRY(meetAt(place, rendezvous));
  } else if (rendezvous.size > 1) {
    const char *address = std::getenv("MASTER_ADDR");
    if (!address || !*address)
      return usageError("RANK is set and MASTER_ADDR is {}: the host of rank 0",
                        address ? "empty" : "not");
    rendezvous.address = address;
    // The store's port is the one after.
    DLC_ASSIGN(const int port, needed("MASTER_PORT", 1, 65534));
    rendezvous.port = port + 1;
  }
  return std::optional(rendezvous);
}

int localRanksFromEnvironment(int size) {
  const auto count = numberOf("LOCAL_WORLD_SIZE", 1);
  return count.ok() ? count->value_or(size) : size;
}

} // namespace dlc
