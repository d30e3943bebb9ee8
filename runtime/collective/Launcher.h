// How the ranks of a job are started and learn who they are.
#pragma once

#include "runtime/collective/Communicator.h"

#include <optional>
#include <string>
#include <vector>

namespace dlc {

// What this process's environment says: RANK and WORLD_SIZE with MASTER_ADDR
// and MASTER_PORT as torchrun sets them, or with DLC_RENDEZVOUS, a folder, as
// startLocalRanks does. Nothing if RANK is not set. Usage if it is incomplete.
// The job's store listens on MASTER_PORT + 1: a launcher may hold MASTER_PORT.
Result<std::optional<Rendezvous>>
rendezvousFromEnvironment(std::chrono::milliseconds timeout);

// Runs this program `count` times with the arguments given and waits for all:
// each child gets RANK, WORLD_SIZE, LOCAL_RANK and DLC_RENDEZVOUS. SIGINT and
// SIGTERM are passed on. When one fails, the others get a moment to end and are
// then killed; when this process dies, so do they.
//
// Returns the job's exit code: that of the rank that failed first in substance,
// 7 (and a message naming the rank) if a rank was killed.
Result<int> runLocalRanks(int count, const std::vector<std::string> &arguments);

} // namespace dlc
