// SPDX-License-Identifier: Apache-2.0
// This process's rank in a job, from flags or its launcher's variables.
#pragma once

#include "runtime/base/options/OptionTable.h"
#include "runtime/collective/Communicator.h"

#include <optional>

namespace dlc {

// --rank, --world-size, --local-rank, --init, --interface.
struct LaunchFlags {
  std::optional<int64_t> rank, size, localRank;
  // "tcp://HOST:PORT": rank 0's address; "file:///PATH": rank 0 writes a notice
  // to this file; "store://HOST:PORT": the TCPStore at that address; "env://":
  // from MASTER_ADDR and MASTER_PORT.
  std::string init;
  std::string interface; // of this rank; default: GLOO_SOCKET_IFNAME

  // Adds the flags as `section`.rank and so on.
  void addTo(OptionTable &table, const std::string &section);
};

// A value and its origin.
struct LaunchFact {
  std::string what, value, from; // "rank", "1", "SLURM_PROCID"
};

struct Launch {
  std::string launcher; // its name; empty: this process is no rank of a job
  Rendezvous rendezvous;
  std::optional<int> localRank, localSize; // on this host, if known
  int restarts = 0; // how often the launcher has started the job again
  std::vector<LaunchFact> facts;
  std::vector<std::string> ignored; // why other variables are ignored

  bool isRank() const { return !launcher.empty(); }
  // Whether this program itself launched the ranks.
  bool isOwn() const { return launcher == "dlc train"; }
};

// Uses, in this order: flags; RANK and WORLD_SIZE with MASTER_ADDR and
// MASTER_PORT, as dlc train itself, torchrun, Kubeflow and Ray Train set them;
// the variables of MPI's launchers, Slurm and Kubernetes. A launcher's only
// task is not a rank: it may start ranks. With
// TORCHELASTIC_USE_AGENT_STORE=True, and with Ray Train, a store already
// listens at MASTER_PORT; rank 0 then opens a free port and publishes it there.
// With DLC_JOB_TOKEN, equal on all ranks, rank 0 admits no other process.
//
// Code::Usage, naming the variables, if they are incomplete or inconsistent.
Result<Launch> findLaunch(const LaunchFlags &flags,
                          std::chrono::milliseconds timeout);

// Connects to the other ranks; a single rank returns at once. Sets LOCAL_RANK
// if the launcher's variable has another name, so that the choice of a device
// reads only one variable.
Result<std::unique_ptr<Communicator>> joinJob(const Launch &launch);

// The number of threads for this rank: the process's cores divided by the ranks
// of its host, at least 1.
int threadsOfRank(const Launch &launch);

} // namespace dlc
