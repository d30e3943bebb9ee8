// SPDX-License-Identifier: Apache-2.0
// Who may have started this process as one of several: a row each.
#pragma once

#include <span>

namespace dlc {

// Where a launcher's ranks meet, unless MASTER_ADDR and MASTER_PORT say it.
enum class Meet {
  Master,  // these have to
  Slurm,   // the first host of the node list, a port by the job's number
  Session, // a file in the folder that the launcher keeps for them on a host
  Hydra,   // what it keeps for them (store/Pmi.h)
};

// Names of variables; of "A|B" the first that is set counts, null is none.
struct Launcher {
  const char *name;
  const char *marker; // tells it from those below that set the same ones
  const char *rank, *size, *localRank, *localSize;
  const char *restarts; // how often it has started them again
  Meet meet;
};

// The first whose marker and rank are set is it, but see Launch.cpp for those
// that start each other.
std::span<const Launcher> launchers();

} // namespace dlc
