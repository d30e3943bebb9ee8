// SPDX-License-Identifier: Apache-2.0
// What a PMIx server (Open MPI's, PRRTE's) keeps for the ranks that it starts
// on several hosts, by its client library, which is opened at run time.
#pragma once

#include "runtime/collective/Socket.h"

#include <string>

namespace dlc {

// Code::Incompatible without the library.
Status findPmix();

// All ranks call this, once per process: it returns rank 0's text on all of
// them. Code::PeerLost if the others have not called it by the deadline, or the
// server refuses a call.
Result<std::string> shareByPmix(int rank, const std::string &text,
                                Socket::Clock::time_point deadline);

} // namespace dlc
