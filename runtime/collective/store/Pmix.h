// SPDX-License-Identifier: Apache-2.0
// Exchanges a text through a PMIx server (Open MPI's, PRRTE's), for ranks on
// several hosts, by PMIx's client library, which is opened at run time.
#pragma once

#include "runtime/collective/Socket.h"

#include <string>

namespace dlc {

// Code::Incompatible if the library cannot be used.
Status findPmix();

// Returns rank 0's text on all ranks; all call it, once per process.
// Code::PeerLost if the others have not called it by the deadline, or the
// server refuses a call.
Result<std::string> shareByPmix(int rank, const std::string &text,
                                Socket::Clock::time_point deadline);

} // namespace dlc
