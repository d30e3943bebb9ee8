// SPDX-License-Identifier: Apache-2.0
// What this process is in a job: by its flags, or by what its launcher has set.
#pragma once

#include "runtime/base/options/OptionTable.h"
#include "runtime/collective/Communicator.h"

#include <optional>

namespace dlc {

// --rank, --world-size, --local-rank, --init.
struct LaunchFlags {
  std::optional<int64_t> rank, size, localRank;
  // "tcp://HOST:PORT": rank 0 listens there; "file:///PATH": it leaves a notice
  // there; "store://HOST:PORT": in the TCPStore that listens there; "env://":
  // as MASTER_ADDR and MASTER_PORT say.
  std::string init;

  // As `section`.rank and so on.
  void addTo(OptionTable &table, const std::string &section);
};

// One thing that was decided, and by what.
struct LaunchFact {
  std::string what, value, from; // "rank", "1", "SLURM_PROCID"
};

struct Launch {
  std::string launcher; // its name; empty: this process is no rank of a job
  Rendezvous rendezvous;
  std::optional<int> localRank, localSize; // on this host, if they are known
  int restarts = 0; // how often the launcher has started the job again
  std::vector<LaunchFact> facts;
  std::vector<std::string> ignored; // why other variables do not count

  bool isRank() const { return !launcher.empty(); }
  // Ranks of the launcher that this program is itself.
  bool isOwn() const { return launcher == "dlc train"; }
};

// In this order: flags; RANK and WORLD_SIZE with MASTER_ADDR and MASTER_PORT,
// as dlc train itself, torchrun, Kubeflow and Ray Train set them; MPI's
// launchers and Slurm. One task of a launcher is no rank: it may start ranks.
// Under TORCHELASTIC_USE_AGENT_STORE=True, and Ray Train, a store listens at
// MASTER_PORT already; rank 0 then takes a free port and says there which.
// With DLC_JOB_TOKEN, the same on all ranks, rank 0 lets nobody else in.
//
// Code::Usage, naming the variables, if they are incomplete or contradict each
// other.
Result<Launch> findLaunch(const LaunchFlags &flags,
                          std::chrono::milliseconds timeout);

// Meets the other ranks; alone, at once. Sets LOCAL_RANK if the launcher calls
// it otherwise: what chooses a device by it finds it by one name.
Result<std::unique_ptr<Communicator>> joinJob(const Launch &launch);

// The cores of this process shared among the ranks of its host, at least 1.
int threadsOfRank(const Launch &launch);

} // namespace dlc
