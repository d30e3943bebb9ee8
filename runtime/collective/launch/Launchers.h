// SPDX-License-Identifier: Apache-2.0
// The known launchers, one row each.
#pragma once

#include <span>

namespace dlc {

// How a launcher's ranks meet, unless MASTER_ADDR and MASTER_PORT are set.
enum class Meet {
  Master,  // they must be set
  Slurm,   // the first host of the node list, a port by the step's hash
  Session, // on one host a file in the job's folder of the launcher;
           // on several hosts a PMIx server (store/Pmix.h)
  Hydra,   // Hydra's key-value space (store/Pmi.h)
};

// Names of variables; "A|B" means the first that is set, null means none.
struct Launcher {
  const char *name;
  const char *marker; // set for this launcher only, if others set the same rank
  const char *rank, *size, *localRank, *localSize;
  const char *restarts; // number of restarts by the launcher
  Meet meet;
};

// The first launcher whose marker and rank are set is used; Launch.cpp handles
// launchers that start each other.
std::span<const Launcher> launchers();

} // namespace dlc
