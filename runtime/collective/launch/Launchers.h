// SPDX-License-Identifier: Apache-2.0
// The known launchers, one row each.
#pragma once

#include <span>

namespace dlc {

// The rendezvous of a launcher's ranks, unless MASTER_ADDR and MASTER_PORT set
// it.
enum class Meet {
  Master,  // these have to
  Slurm,   // the first host of the node list, a port by the step's hash
  Session, // a file in the folder that the launcher keeps for them on a host;
           // on several what it keeps for them (store/Pmix.h)
  Hydra,   // what it keeps for them (store/Pmi.h)
};

// Names of variables; "A|B" means the first that is set, null means none.
struct Launcher {
  const char *name;
  const char *marker; // tells it from those below that set the same ones
  const char *rank, *size, *localRank, *localSize;
  const char *restarts; // how often it has started them again
  Meet meet;
};

// The first launcher whose marker and rank are set applies; Launch.cpp handles
// launchers that start each other.
std::span<const Launcher> launchers();

} // namespace dlc
