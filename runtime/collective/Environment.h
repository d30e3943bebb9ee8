// What a process's environment says of its job.
#pragma once

#include "runtime/collective/Communicator.h"

#include <optional>

namespace dlc {

// RANK and WORLD_SIZE with MASTER_ADDR and MASTER_PORT as torchrun sets them,
// or with DLC_RENDEZVOUS, as runLocalRanks does. Nothing if none of RANK and
// WORLD_SIZE > 1 is set. The job's store listens on MASTER_PORT + 1: a launcher
// may hold MASTER_PORT. With DLC_JOB_TOKEN, the same on all ranks, it lets
// nobody else in.
//
// Code::Usage, naming the variable, if it is incomplete or contradicts itself,
// and for a task among several of a launcher that is not known (Slurm, MPI),
// which would do the whole job once for each of its tasks.
Result<std::optional<Rendezvous>>
rendezvousFromEnvironment(std::chrono::milliseconds timeout);

// Ranks on this machine by LOCAL_WORLD_SIZE, or `size`; after the above.
int localRanksFromEnvironment(int size);

} // namespace dlc
