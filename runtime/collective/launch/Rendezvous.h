// SPDX-License-Identifier: Apache-2.0
// The rendezvous of a launcher's ranks.
#pragma once

#include "runtime/collective/launch/Launch.h"
#include "runtime/collective/launch/Launchers.h"

namespace dlc {

// Completes the rendezvous of a launch: by --init, else DLC_RENDEZVOUS,
// MASTER_ADDR and MASTER_PORT, or as the launcher's row says; a null row: the
// rank is set by flags. Code::Usage, naming the variables.
Status meetRanks(const std::string &init, const Launcher *row, Launch &launch);

} // namespace dlc
